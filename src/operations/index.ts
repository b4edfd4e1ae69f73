import { brokerOperations } from "./broker.ts";
import { consumerOperations } from "./consumers.ts";
import { ejectOperations } from "./eject.ts";
import { ephemeralOperations } from "./ephemeral.ts";
import type { Operation } from "./operation.ts";
import { queueOperations } from "./queues.ts";
import { replayOperation } from "./replay.ts";
import { tailOperation } from "./tail.ts";

/** Everything that an operator can do, by command line or as a tool. */
export const operations: readonly Operation[] = [
  ...queueOperations,
  tailOperation,
  ...consumerOperations,
  replayOperation,
  ...ephemeralOperations,
  ...ejectOperations,
  ...brokerOperations,
];
