import { DEFAULT_PARTITION } from "../../contract/limits.ts";
import { ackBody, peekBody, pullBody, purgeRefsBody, pushBatchBody, pushBody } from "../../contract/queue-requests.ts";
import { delayOf, packMessages, type Draft } from "../../durable/content.ts";
import { parseRef } from "../../durable/refs.ts";
import type { PeekedMessage, Settlement } from "../../durable/message.ts";
import { param, readQueueBody, type QueueCall, type QueueRoute } from "./call.ts";
import { waitOf } from "../gate.ts";
import { answerSlowly } from "../slow-answer.ts";
import { queueFailureText, success, successText } from "./envelope.ts";
import { isoOr, metricsShape } from "./shapes.ts";
import { draftOf, messageShape } from "./wire-message.ts";
import { admin, durable } from "../rules.ts";

/** What a queue holds. */
export const messageRoutes: QueueRoute[] = [
  ["POST", "/:queue/messages", durable("send"), push],
  ["POST", "/:queue/messages/batch", durable("send"), pushBatch],
  ["POST", "/:queue/messages/pull", durable("pull"), pull],
  ["POST", "/:queue/messages/ack", durable("ack"), ack],
  ["POST", "/:queue/messages/peek", durable("peek"), peek],
  ["POST", "/:queue/messages/purge", admin("purge messages"), purgeRefs],
];

async function push(call: QueueCall): Promise<Response> {
  const { partition, ...message } = await readQueueBody(call.request, pushBody);
  return send(call, partition, [draftOf(message)]);
}

async function pushBatch(call: QueueCall): Promise<Response> {
  const { partition, messages, delay_seconds } = await readQueueBody(call.request, pushBatchBody);
  return send(call, partition, messages.map(draftOf), delay_seconds);
}

async function send(call: QueueCall, partition: string | null | undefined, drafts: Draft[], delay?: unknown) {
  const packed = packMessages(drafts, delay);
  const backlog = await call.queues.send(param(call, "queue"), partition ?? DEFAULT_PARTITION, packed);
  return success({ metadata: { metrics: metricsShape(backlog) } });
}

async function pull(call: QueueCall): Promise<Response> {
  const { batch_size, visibility_timeout_ms, wait_ms, consumer } = await readQueueBody(call.request, pullBody);
  const queue = param(call, "queue");
  const request = {
    consumer: consumer ?? null,
    limit: batch_size,
    visibilityTimeoutMs: visibility_timeout_ms ?? null,
    waitMs: await waitOf(call, wait_ms),
  };
  return answerSlowly(
    call,
    async (signal) => {
      const messages = await call.queues.pull(queue, request, signal);
      // Whatever it costs to count: these messages are leased by now.
      const backlog = await call.queues.backlog(queue, { partly: true });
      return successText({
        message_backlog_count: backlog.count,
        messages: messages.map((message) => ({ ...messageShape(message), lease_id: message.leaseId })),
        metadata: { metrics: metricsShape(backlog) },
      });
    },
    queueFailureText,
  );
}

async function ack(call: QueueCall): Promise<Response> {
  const { acks, retries } = await readQueueBody(call.request, ackBody);
  const settlements: Settlement[] = [
    ...acks.map(({ lease_id }) => ({ leaseId: lease_id, retry: null })),
    ...retries.map(({ lease_id, delay_seconds }) => ({
      leaseId: lease_id,
      retry: { delaySeconds: delayOf(delay_seconds, 10203) },
    })),
  ];
  const outcomes = await call.queues.settle(param(call, "queue"), settlements);
  const unknown = settlements.filter((_, index) => outcomes[index] === "unknown").map(({ leaseId }) => leaseId);
  return success({
    ackCount: outcomes.filter((outcome) => outcome === "acked").length,
    retryCount: outcomes.filter((outcome) => outcome === "retried").length,
    warnings: warningsFor(
      unknown,
      "names no message that is leased: it was settled, purged, or given to somebody else",
    ),
  });
}

async function peek(call: QueueCall): Promise<Response> {
  const { batch_size, after } = await readQueueBody(call.request, peekBody);
  const queue = param(call, "queue");
  if (after === undefined) {
    const messages = await call.queues.peek(queue, batch_size);
    return success({ messages: messages.map(peekedShape) });
  }
  const run = await call.queues.peekAfter(queue, batch_size, after);
  return success({ messages: run.messages.map(peekedShape), after: run.after });
}

function peekedShape(message: PeekedMessage) {
  const { state, dueAt, ref } = message;
  return { ...messageShape(message), ref, state, due_at: isoOr(dueAt) };
}

async function purgeRefs(call: QueueCall): Promise<Response> {
  const { refs } = await readQueueBody(call.request, purgeRefsBody);
  const [malformed, named] = [true, false].map((isMalformed) =>
    refs.map(({ ref }) => ref).filter((ref) => (parseRef(ref) === null) === isMalformed),
  ) as [string[], string[]];
  const unknown = await call.queues.purgeRefs(param(call, "queue"), named);
  return success({
    errors: malformed.map((ref) => ({ message: `${JSON.stringify(ref)} is not a ref; a peek answers refs` })),
    warnings: warningsFor(unknown, "names no message: it is gone already"),
  });
}

function warningsFor(keys: readonly string[], warning: string): Record<string, string> {
  return Object.fromEntries(keys.map((key) => [key, warning]));
}
