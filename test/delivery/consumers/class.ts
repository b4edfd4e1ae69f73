import { WorkerEntrypoint } from "cloudflare:workers";
import { follow, seen } from "./script.ts";

export default class extends WorkerEntrypoint {
  override async queue(batch: MessageBatch): Promise<void> {
    await follow(batch, this.env, this.ctx);
  }

  seen() {
    return seen();
  }
}
