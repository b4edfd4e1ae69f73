import * as z from "zod/mini";
import { httpBody, pullConsumerBody, workerBody } from "../contract/queue-consumers.ts";
import type { QueueErrorCode } from "../contract/queue-errors.ts";
import { changeQueueBody, createQueueBody, listQuery, purgeBody } from "../contract/queue-requests.ts";
import { named } from "./components.ts";
import { described, text, time, type Operation } from "./operation.ts";
import { answered, consumer, listed, metrics, queue, queueWithStatus } from "./queue-answers.ts";

/** Of a route that names a queue. */
export const OF_QUEUE: QueueErrorCode[] = [10104, 10107, 15001];
/** Of one that asks all of its partitions. */
export const OF_PARTITIONS: QueueErrorCode[] = [...OF_QUEUE, 10253];
const OF_BODY: QueueErrorCode[] = [10207, 10400];

export const inQueue = { queue: text("the name or the id of the queue") };
const inConsumer = { ...inQueue, consumer: text("the id of the consumer") };

described(httpBody.shape.secret, "what batches are signed with; when a consumer is replaced, the old one by default");

const consumerBody = named("ConsumerBody", z.discriminatedUnion("type", [workerBody, httpBody, pullConsumerBody]));

/** Queues and their consumers, by method and path below either mount. */
export const queueOperations: Record<string, Operation> = {
  "POST ": {
    id: "createQueue",
    tag: "durable queues",
    summary: "Declare a queue",
    body: createQueueBody,
    answers: answered(queue),
    errors: [...OF_BODY, 11009],
  },
  "GET ": {
    id: "listQueues",
    tag: "durable queues",
    summary: "List the queues",
    query: { ...listQuery.shape, name: z.optional(z.array(z.string())) },
    answers: listed(queue),
    errors: [10400],
  },
  "GET /:queue": {
    id: "getQueue",
    tag: "durable queues",
    summary: "One queue, and why something arrives or does not arrive",
    params: inQueue,
    answers: answered(queueWithStatus),
    errors: OF_QUEUE,
  },
  "PATCH /:queue": {
    id: "changeQueue",
    tag: "durable queues",
    summary: "Change a queue; what is not given stays as it is",
    params: inQueue,
    body: changeQueueBody,
    mayLackBody: true,
    answers: answered(queue),
    errors: [...OF_QUEUE, ...OF_BODY, 11009],
  },
  "PUT /:queue": {
    id: "replaceQueue",
    tag: "durable queues",
    summary: "Change a queue; a setting that is not given returns to its default",
    params: inQueue,
    body: changeQueueBody,
    mayLackBody: true,
    answers: answered(queue),
    errors: [...OF_QUEUE, ...OF_BODY, 11009],
  },
  "DELETE /:queue": {
    id: "deleteQueue",
    tag: "durable queues",
    summary: "Delete a queue and everything that it holds",
    params: inQueue,
    answers: answered(queue),
    errors: [...OF_QUEUE, 10409],
  },
  "GET /:queue/metrics": {
    id: "queueMetrics",
    tag: "durable queues",
    summary: "The backlog of a queue",
    params: inQueue,
    answers: answered(metrics),
    errors: OF_PARTITIONS,
  },
  "POST /:queue/purge": {
    id: "purgeQueue",
    tag: "durable queues",
    summary: "Remove everything that a queue holds",
    params: inQueue,
    body: purgeBody,
    answers: answered(queue),
    errors: [...OF_PARTITIONS, ...OF_BODY],
  },
  "GET /:queue/purge": {
    id: "queuePurge",
    tag: "durable queues",
    summary: "How far the last purge is",
    params: inQueue,
    answers: answered(z.object({ completed: z.enum(["true", "false"]), started_at: z.nullable(time) })),
    errors: OF_QUEUE,
  },
  "GET /:queue/consumers": {
    id: "listConsumers",
    tag: "consumers",
    summary: "List the consumers of a queue",
    params: inQueue,
    answers: listed(consumer),
    errors: OF_QUEUE,
  },
  "POST /:queue/consumers": {
    id: "createConsumer",
    tag: "consumers",
    summary: "Add a consumer; one that is there with the same settings is answered as it is",
    params: inQueue,
    body: consumerBody,
    answers: answered(consumer),
    errors: [...OF_QUEUE, ...OF_BODY, 11004, 10409],
  },
  "GET /:queue/consumers/:consumer": {
    id: "getConsumer",
    tag: "consumers",
    summary: "One consumer",
    params: inConsumer,
    answers: answered(consumer),
    errors: [...OF_QUEUE, 10404],
  },
  "PUT /:queue/consumers/:consumer": {
    id: "replaceConsumer",
    tag: "consumers",
    summary: "Replace a consumer, which keeps its place; a key that is not given returns to its default",
    params: inConsumer,
    body: consumerBody,
    answers: answered(consumer),
    errors: [...OF_QUEUE, ...OF_BODY, 10404, 11004, 10409],
  },
  "DELETE /:queue/consumers/:consumer": {
    id: "deleteConsumer",
    tag: "consumers",
    summary: "Delete a consumer",
    params: inConsumer,
    answers: answered(consumer),
    errors: [...OF_QUEUE, 10404],
  },
};
