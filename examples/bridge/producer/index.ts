interface Env {
  ORDERS: Queue;
  SIGNALS: Queue;
}

/** A Worker that is not to be touched. It sends to real Cloudflare Queues: an order, and a signal that there is one. */
export default {
  /** `GET /?item=book` */
  async fetch(request, env): Promise<Response> {
    const item = new URL(request.url).searchParams.get("item");
    if (item === null) return new Response("what do you want? /?item=book\n", { status: 400 });
    await env.ORDERS.send({ item, at: new Date() }, { contentType: "v8" });
    await env.SIGNALS.send({ ordered: item });
    return new Response(`ordered: ${item}\n`);
  },
} satisfies ExportedHandler<Env>;
