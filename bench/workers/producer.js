/** Sends what a request carries to the queue that its path names. Which broker holds the queue is a matter of its bindings. */
export default {
  async fetch(request, env) {
    const [, verb, queue] = new URL(request.url).pathname.split("/");
    const body = await request.json();
    await (verb === "batch" ? env[queue].sendBatch(body) : env[queue].send(body));
    return new Response("{}");
  },
};
