import { WorkerEntrypoint } from "cloudflare:workers";
import { follow, seen } from "./script.ts";

/** A Worker as most are written, and as Cloudflare Queues runs it. */
export default {
  queue: follow,
  seen: () => seen(),
};

export class Named extends WorkerEntrypoint {
  override async queue(batch: MessageBatch): Promise<void> {
    await follow(batch, this.env, this.ctx);
  }
}

/** It has no handler. */
export class Silent extends WorkerEntrypoint {
  override fetch(): Response {
    return new Response("nothing here");
  }
}
