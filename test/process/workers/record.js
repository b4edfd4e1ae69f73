import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";

/** What consumers were handed, on the disk: a test kills the process that they run in. */
export class Record extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS handed (consumer TEXT, body TEXT, id TEXT, attempts INTEGER)");
  }

  add(consumer, messages) {
    for (const { body, id, attempts } of messages) {
      this.ctx.storage.sql.exec("INSERT INTO handed VALUES (?, ?, ?, ?)", consumer, JSON.stringify(body), id, attempts);
    }
  }

  all() {
    return this.ctx.storage.sql.exec("SELECT * FROM handed").toArray();
  }
}

/** The record, for other Workers. */
export class Recorder extends WorkerEntrypoint {
  add(consumer, messages) {
    return this.env.RECORD.getByName("record").add(consumer, messages);
  }
}

/** Writes down what it is handed, and then fails as often as its vars say. */
export default {
  async queue(batch, env) {
    const messages = batch.messages.map(({ body, id, attempts }) => ({ body, id, attempts }));
    await env.RECORD.getByName("record").add(batch.queue + "/" + env.NAME, messages);
    for (const message of batch.messages) {
      if (Math.random() < env.FAILS / 3) message.retry();
      else if (Math.random() < 0.5) message.ack();
    }
    if (Math.random() < (env.FAILS * 2) / 3) throw new Error("this one fails");
  },
  async fetch(_, env) {
    return Response.json(await env.RECORD.getByName("record").all());
  },
};
