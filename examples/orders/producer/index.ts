interface Env {
  ORDERS: Queue<{ item: string }>;
}

/** Sends orders, as to any Cloudflare Queue. */
export default {
  /** `GET /?item=book` */
  async fetch(request, env): Promise<Response> {
    const item = new URL(request.url).searchParams.get("item");
    if (item === null) return new Response("what do you want? /?item=book\n", { status: 400 });
    await env.ORDERS.send({ item });
    return new Response(`ordered: ${item}\n`);
  },
} satisfies ExportedHandler<Env>;
