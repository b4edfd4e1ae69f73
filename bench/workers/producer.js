import { note, stamps } from "./stamps.js";

/** Sends what a request carries to the queue that its path names. Which broker holds the queue is a matter of its bindings. */
export default {
  async fetch(request, env) {
    const [, verb, queue] = new URL(request.url).pathname.split("/");
    if (verb === "stamps") return Response.json(stamps);
    const body = await request.json();
    if (verb === "batch") {
      await env[queue].sendBatch(body);
    } else {
      note(body.n);
      await env[queue].send(body);
    }
    return new Response("{}");
  },
};
