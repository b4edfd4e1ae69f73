import * as z from "zod/mini";
import { MAX_DELAY_SECONDS } from "../contract/queue-limits.ts";
import {
  ackBody,
  ejectBody,
  ejectPageBody,
  importBody,
  message,
  peekBody,
  pullBody,
  purgeRefsBody,
  pushBatchBody,
  pushBody,
} from "../contract/queue-requests.ts";
import { count, described, type Operation } from "./operation.ts";
import { answered, begunEject, ejectedPage, metrics, peeked, pulled } from "./queue-answers.ts";
import { inQueue, OF_PARTITIONS, OF_QUEUE } from "./queues.ts";

// These fields are checked where messages are packed, which service bindings go through as well.
described(message.body, "any JSON for `json`, a string for `text`, base64 for `bytes` and `v8`");
described(message.content_type, { enum: ["json", "text", "bytes", "v8"], default: "json" });
described(message.delay_seconds, { type: ["integer", "null"], minimum: 0, maximum: MAX_DELAY_SECONDS });

const sent = answered(z.object({ metadata: z.object({ metrics }) }));
const warnings = described(z.record(z.string(), z.string()), "why, by what named nothing");

/** What is done with messages, by method and path below either mount. */
export const messageOperations: Record<string, Operation> = {
  "POST /:queue/messages": {
    id: "sendMessage",
    tag: "messages",
    summary: "Send a message",
    params: inQueue,
    body: pushBody,
    answers: sent,
    errors: [...OF_QUEUE, 10203, 10204, 10207, 10208, 10250, 10251, 10400],
  },
  "POST /:queue/messages/batch": {
    id: "sendBatch",
    tag: "messages",
    summary: "Send up to 100 messages, all or none",
    params: inQueue,
    body: pushBatchBody,
    answers: sent,
    errors: [...OF_QUEUE, 10202, 10203, 10204, 10205, 10206, 10207, 10208, 10250, 10251, 10400],
  },
  "POST /:queue/messages/pull": {
    id: "pullMessages",
    tag: "messages",
    summary: "Lease messages to a pull consumer, waiting for the first if asked to",
    description:
      "One that waits longer than 15 s gets its status and then a space every 15 s; the JSON follows, and a failure is told by its envelope.",
    params: inQueue,
    body: pullBody,
    mayLackBody: true,
    answers: answered(pulled),
    errors: [...OF_QUEUE, 10207, 10252, 10400, 10404, 10409],
  },
  "POST /:queue/messages/ack": {
    id: "ackMessages",
    tag: "messages",
    summary: "Ack messages that were pulled, or have them delivered again",
    params: inQueue,
    body: ackBody,
    mayLackBody: true,
    answers: answered(z.object({ ackCount: z.number(), retryCount: z.number(), warnings })),
    errors: [...OF_PARTITIONS, 10203, 10207, 10400],
  },
  "POST /:queue/messages/peek": {
    id: "peekMessages",
    tag: "messages",
    summary: "Look at messages without leasing them",
    params: inQueue,
    body: peekBody,
    mayLackBody: true,
    answers: answered(peeked),
    errors: [...OF_PARTITIONS, 10207, 10400],
  },
  "POST /:queue/messages/purge": {
    id: "purgeMessages",
    tag: "messages",
    summary: "Remove the messages that refs of a peek name",
    params: inQueue,
    body: purgeRefsBody,
    answers: answered(z.object({ errors: z.array(z.object({ message: z.string() })), warnings })),
    errors: [...OF_PARTITIONS, 10207, 10400],
  },
  "POST /:queue/eject": {
    id: "beginEject",
    tag: "messages",
    summary: "Begin to read everything that a queue holds at this moment",
    description:
      "What is here now is read page by page, whatever becomes of it meanwhile; a moment ends 60 s after its last page. Of one partition four can be read at once.",
    params: inQueue,
    body: ejectBody,
    mayLackBody: true,
    answers: answered(begunEject),
    errors: [...OF_PARTITIONS, 10207, 10250, 10400],
  },
  "POST /:queue/eject/page": {
    id: "ejectPage",
    tag: "messages",
    summary: "Read on in a partition from a cursor",
    description:
      "Messages come up to `max_bytes`, but one at least. When the moment was lost with its object, `moment` is `restarted`: what left meanwhile is missing.",
    params: inQueue,
    body: ejectPageBody,
    answers: answered(ejectedPage),
    errors: [...OF_QUEUE, 10207, 10250, 10400],
  },
  "POST /:queue/import": {
    id: "importMessages",
    tag: "messages",
    summary: "Take messages over as they were elsewhere, deliveries included",
    description:
      "Up to 100 messages, of 800,000 bytes together. A message whose `number` is not above the last one of its `source` in this partition is a repeat, and is not stored again.",
    params: inQueue,
    body: importBody,
    answers: answered(
      z.object({ imported: count("messages that were stored"), repeated: count("messages that were there before") }),
    ),
    errors: [...OF_QUEUE, 10204, 10205, 10206, 10207, 10208, 10250, 10251, 10400],
  },
};
