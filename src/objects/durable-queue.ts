import { DurableObject } from "cloudflare:workers";
import type { Env } from "../config.ts";
import type { DurableQueueMethods } from "./queue-protocol.ts";

function missing(): never {
  throw new Error("durable queues are not there yet");
}

/** One partition of a durable queue. */
export class DurableQueue extends DurableObject<Env> implements DurableQueueMethods {
  async configure() {}
  async destroy() {}
  send = missing;
  receive = missing;
  pull = missing;
  whenReady = missing;
  settle = missing;
  backlog = missing;
  status = missing;
  peek = missing;
  purgeRefs = missing;
  purge = missing;
}
