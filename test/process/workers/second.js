/** Writes down what it is handed, in the record of another Worker, and takes all of it. */
export default {
  async queue(batch, env) {
    const messages = batch.messages.map(({ body, id, attempts }) => ({ body, id, attempts }));
    await env.RECORD.add(batch.queue + "/" + env.NAME, messages);
  },
};
