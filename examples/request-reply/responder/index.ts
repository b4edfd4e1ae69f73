import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import type { EphemeralBinding } from "../../../src/index.ts";

interface Env {
  EPHEMERAL: EphemeralBinding;
  LOOP: DurableObjectNamespace<Loop>;
}

interface Request {
  n: number;
  replyTo: string;
}

/** A Worker does not run by itself: this one is started by its first caller, and its loop keeps going by alarms. */
export default class Responder extends WorkerEntrypoint<Env> {
  async start(): Promise<void> {
    await this.env.LOOP.getByName("loop").start();
  }
}

/** Serves requests until a minute has passed without one. */
export class Loop extends DurableObject<Env> {
  #lastRequestAt = Date.now();

  async start(): Promise<void> {
    this.#lastRequestAt = Date.now();
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now());
  }

  override async alarm(): Promise<void> {
    while (Date.now() - this.#lastRequestAt < 60_000) {
      // Every responder of the group "workers" shares the requests.
      const { messages } = await this.env.EPHEMERAL.pop<Request>("rpc-requests", {
        group: "workers",
        batch: 10,
        wait: true,
        timeout: 10_000,
      });
      if (messages.length === 0) continue;
      this.#lastRequestAt = Date.now();
      for (const { payload } of messages) {
        const { n, replyTo } = payload;
        await this.env.EPHEMERAL.push(replyTo, [{ squared: n ** 2 }]);
      }
      await this.env.EPHEMERAL.ack("rpc-requests", messages, { group: "workers" });
    }
  }
}
