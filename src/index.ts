import type { Env } from "./config.ts";
import { bridge } from "./delivery/bridge.ts";
import { handle } from "./http/app.ts";

export { Declarations } from "./objects/declarations.ts";
export { DurableQueue } from "./objects/durable-queue.ts";
export { Owner } from "./objects/owner.ts";
export { Ephemeral } from "./rpc/ephemeral.ts";
export { Queue } from "./rpc/queue.ts";
export type * from "./rpc/binding.ts";
export type { QueueMetrics, QueueProps, QueueVerb, SendBatchOptions, SendOptions, SendResponse } from "./rpc/queue.ts";

export default { fetch: handle, queue: bridge } satisfies ExportedHandler<Env>;
