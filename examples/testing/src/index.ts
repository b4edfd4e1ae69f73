export interface Order {
  item: string;
  quantity: number;
}

export interface Env {
  ORDERS: Queue<Order>;
}

/** Takes orders, and ships them. What is out of stock is tried again later; what never can be shipped is not. */
export default {
  async fetch(request, env) {
    await env.ORDERS.send((await request.json()) as Order);
    return new Response("accepted", { status: 202 });
  },

  async queue(batch) {
    for (const message of batch.messages) {
      const { item, quantity } = message.body as Order;
      if (item === "unicorn") throw new Error("there are no unicorns");
      if (quantity > 100) message.retry({ delaySeconds: 3600 });
      else message.ack();
    }
  },
} satisfies ExportedHandler<Env>;
