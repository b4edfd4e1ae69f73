interface Order {
  item: string;
}

/** Ships orders, as from any Cloudflare Queue. */
export default {
  async queue(batch): Promise<void> {
    for (const message of batch.messages) {
      const { item } = message.body;
      if (item === "unicorn") {
        console.log(`there is no ${item}`);
        message.retry();
      } else if (item === "map" && message.attempts === 1) {
        console.log(`${item} is out of stock, again in 2 s`);
        message.retry({ delaySeconds: 2 });
      } else {
        console.log(`shipped: ${item}, at delivery ${message.attempts}`);
        message.ack();
      }
    }
  },
} satisfies ExportedHandler<unknown, Order>;
