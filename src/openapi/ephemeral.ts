import * as z from "zod/mini";
import type { ErrorCode } from "../contract/errors.ts";
import { MAX_ITEMS } from "../contract/limits.ts";
import { importHead } from "../contract/import-body.ts";
import { name } from "../contract/names.ts";
import { declaredOptions } from "../contract/options.ts";
import {
  ackBody,
  configureBody,
  depthQuery,
  ejectBody,
  ejectPageBody,
  peekQuery,
  popQuery,
  pushHead,
  removeBody,
  resetBody,
  subscribeQuery,
} from "../contract/requests.ts";
import { begunEject, depth, ejectedPage, messages, outcomes, peeked, queueListing } from "./ephemeral-answers.ts";
import { count, described, type Operation, type Schema } from "./operation.ts";
import { brokerFrame, clientFrame } from "./socket-frames.ts";

const AWAY: ErrorCode[] = ["owner_moved", "ephemeral_forward_failed"];
/** Of a route that names a queue. */
const OF_QUEUE: ErrorCode[] = ["ephemeral_bad_request", ...AWAY];

/** The default of the var `POP_TIMEOUT_MS`. */
const POP_TIMEOUT_MS = 30_000;

/** The payloads are cut out of the body as text, which is why the route's own schema does not hold them. */
export const payloads = z
  .array(z.object({ payload: described(z.unknown(), "any JSON, which comes back byte for byte") }))
  .check(z.maxLength(MAX_ITEMS));

const numbered = z
  .array(z.object({ number: z.number(), payload: described(z.unknown(), "any JSON, which comes back byte for byte") }))
  .check(z.minLength(1), z.maxLength(MAX_ITEMS));

function done(status: number, schema: Schema): Operation["answers"] {
  return [{ status, description: "done", schema }];
}

export const ephemeralOperations: Record<string, Operation> = {
  "POST /api/v1/ephemeral/push": {
    id: "push",
    tag: "ephemeral queues",
    summary: "Append messages to a partition, all or none",
    body: z.object({ ...pushHead.shape, messages: payloads }),
    answers: done(201, z.object({ pushed: count("messages that were stored, of a repeat by its key at first") })),
    errors: [...OF_QUEUE, "queue_full", "ephemeral_unavailable", "no_responders"],
  },
  "GET /api/v1/ephemeral/pop": {
    id: "pop",
    tag: "ephemeral queues",
    summary: "Lease messages, waiting for the first if asked to",
    description:
      "A pop that waits longer than 15 s gets its status and then a space every 15 s; the JSON follows. `timeout` is in ms and counts only with `wait`; its default is the var POP_TIMEOUT_MS. Numbers out of range are clamped. `commitOnDelivery` is another name of `autoAck`.",
    query: popQuery(POP_TIMEOUT_MS).shape,
    answers: done(200, z.object({ queue: z.string(), messages })),
    errors: [...OF_QUEUE, "too_many_groups", "ephemeral_unavailable"],
  },
  "GET /api/v1/ephemeral/subscribe": {
    id: "subscribe",
    tag: "ephemeral queues",
    summary: "Have messages sent as they come, over a WebSocket or as server-sent events",
    description:
      "A WebSocket carries the frames that `x-frames` names, and `ping`, which is answered with `pong`. Server-sent events hold a message each and are auto-acked.",
    query: subscribeQuery.shape,
    access: "ticket",
    frames: { client: clientFrame, broker: brokerFrame },
    answers: [
      { status: 101, description: "a WebSocket, for a request with `Upgrade: websocket`" },
      { status: 200, description: "for a request with `Accept: text/event-stream`", contentType: "text/event-stream" },
    ],
    errors: [...OF_QUEUE, "upgrade_required", "too_many_groups", "ephemeral_unavailable"],
  },
  "POST /api/v1/ephemeral/ack": {
    id: "ack",
    tag: "ephemeral queues",
    summary: "Settle messages that were popped",
    description: "`status` is `completed`, `retry` or `failed`. An ack with `attempts` settles that delivery alone.",
    body: ackBody,
    answers: done(200, z.object({ results: outcomes })),
    errors: OF_QUEUE,
  },
  "POST /api/v1/ephemeral/configure": {
    id: "configure",
    tag: "ephemeral queues",
    summary: "Declare a queue whose options are not the defaults",
    body: configureBody,
    answers: done(201, z.object({ queue: name, options: declaredOptions, declared: z.literal(true) })),
    errors: OF_QUEUE,
  },
  "POST /api/v1/ephemeral/reset": {
    id: "reset",
    tag: "ephemeral queues",
    summary: "Drop everything that a queue holds",
    body: resetBody,
    answers: done(200, z.object({ queue: name, dropped: count("messages that went") })),
    errors: OF_QUEUE,
  },
  "DELETE /api/v1/ephemeral/queue/:queue": {
    id: "deleteEphemeralQueue",
    tag: "ephemeral queues",
    summary: "Delete a queue, and its declaration",
    params: { queue: name },
    answers: done(200, z.object({ queue: name, deleted: z.boolean(), declared: z.boolean() })),
    errors: OF_QUEUE,
  },
  "GET /api/v1/ephemeral/queues": {
    id: "listEphemeralQueues",
    tag: "ephemeral queues",
    summary: "Every queue, over all owners",
    answers: done(200, queueListing),
    errors: AWAY,
  },
  "GET /api/v1/ephemeral/queues/:queue/depth": {
    id: "depth",
    tag: "ephemeral queues",
    summary: "How much a queue holds, by partition and by group",
    params: { queue: name },
    query: { group: depthQuery.shape.group },
    answers: done(200, depth),
    errors: [...OF_QUEUE, "ephemeral_queue_not_found"],
  },
  "GET /api/v1/ephemeral/queues/:queue/peek": {
    id: "peek",
    tag: "ephemeral queues",
    summary: "Look at the oldest messages without leasing them",
    params: { queue: name },
    query: { partition: peekQuery.shape.partition, limit: peekQuery.shape.limit },
    answers: done(200, peeked),
    errors: [...OF_QUEUE, "ephemeral_queue_not_found"],
  },
  "POST /api/v1/ephemeral/eject": {
    id: "beginEphemeralEject",
    tag: "ephemeral queues",
    summary: "Begin to read everything that a queue holds at this moment",
    description: "A moment ends 60 s after its last page. An owner bears four at once.",
    body: ejectBody,
    answers: done(200, begunEject),
    errors: [...OF_QUEUE, "ephemeral_queue_not_found", "ephemeral_unavailable"],
  },
  "POST /api/v1/ephemeral/eject/page": {
    id: "ephemeralEjectPage",
    tag: "ephemeral queues",
    summary: "Read on in a partition from a cursor",
    description:
      "Messages come up to `maxBytes`, but one at least. When the moment was lost with its owner, `moment` is `restarted`: what left meanwhile is missing.",
    body: ejectPageBody,
    answers: done(200, ejectedPage),
    errors: OF_QUEUE,
  },
  "POST /api/v1/ephemeral/import": {
    id: "importEphemeral",
    tag: "ephemeral queues",
    summary: "Append the messages of a file, once",
    description:
      "A message whose `number` is not above the last one of its `source` in this partition is a repeat, and is not stored again.",
    body: z.object({ ...importHead.shape, messages: numbered }),
    answers: done(200, z.object({ imported: count("were stored"), repeated: count("were there before") })),
    errors: [...OF_QUEUE, "queue_full", "ephemeral_unavailable"],
  },
  "POST /api/v1/ephemeral/remove": {
    id: "removeMessages",
    tag: "ephemeral queues",
    summary: "Remove messages, whichever groups have them",
    body: removeBody,
    answers: done(200, z.object({ removed: count("were there"), unknown: count("were not") })),
    errors: OF_QUEUE,
  },
  "DELETE /api/v1/ephemeral/queues/:queue/groups/:group": {
    id: "deleteGroup",
    tag: "ephemeral queues",
    summary: "Forget where a group is",
    params: { queue: name, group: name },
    answers: done(200, z.object({ queue: name, group: name, deleted: z.boolean() })),
    errors: OF_QUEUE,
  },
};
