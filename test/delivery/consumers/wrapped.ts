import { WorkerEntrypoint } from "cloudflare:workers";
import { consumer } from "../../../src/consumer/index.ts";
import { follow, seen } from "./script.ts";

export default {
  ...consumer({
    queue: (batch, env, ctx) => follow(batch, env as object, ctx) as Promise<void>,
    fetch: () => new Response("as before"),
  }),
  seen: () => seen(),
};

export const Named = consumer(
  class extends WorkerEntrypoint {
    /** Private state, which an instance that is not the real one would not have. */
    readonly #origin = "here";

    override async queue(batch: MessageBatch): Promise<void> {
      if (this.#origin === "here") await follow(batch, this.env, this.ctx);
    }
  },
);

/** A helper of another kind, or of another time. */
export class Strange extends WorkerEntrypoint {
  waggleDeliver(): object {
    return { calls: [{ kind: "ack", message: 7, delaySeconds: null }], error: null };
  }
}
