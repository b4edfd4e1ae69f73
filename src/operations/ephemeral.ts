import * as z from "zod/mini";
import { MAX_ITEMS } from "../contract/limits.ts";
import { declaredOptions } from "../contract/options.ts";
import { v1, type Api } from "./api.ts";
import { field, operation, type Operation } from "./operation.ts";
import { whole } from "./whole.ts";

/** The verbs of ephemeral queues. */

const queue = field(z.string(), "the queue's name");
const partition = field(z.optional(z.string()), "one partition; all of them when absent");
const group = field(z.optional(z.string()), "the consumer group; queue mode when absent");
const MAX_WAIT_SECONDS = 60;
const waitSeconds = field(
  z._default(whole(0, MAX_WAIT_SECONDS), 0),
  `how long to wait for the first message, up to ${MAX_WAIT_SECONDS} s`,
);

interface Popped {
  messages: { id: string; partition: string; attempts: number; payload: unknown }[];
}

export const ephemeralOperations: Operation[] = [
  operation({
    name: "ephemeral ls",
    summary: "List the ephemeral queues with what they hold.",
    input: {},
    run: (api) => api.get(v1`ephemeral/queues`),
  }),
  operation({
    name: "ephemeral push",
    summary: "Push messages.",
    input: {
      queue,
      payloads: field(z.array(z.unknown()).check(z.minLength(1), z.maxLength(MAX_ITEMS)), "the payloads: JSON values"),
      partition: field(z.optional(z.string()), "the partition; Default when absent"),
    },
    args: ["queue", "payloads"],
    run: (api, { queue: name, payloads, partition: to }) =>
      api.post(v1`ephemeral/push`, {
        queue: name,
        partition: to,
        messages: payloads.map((payload) => ({ payload })),
      }),
  }),
  operation({
    name: "ephemeral pop",
    summary: "Take messages. They count as consumed, unless they are only leased.",
    input: {
      queue,
      partition,
      group,
      limit: field(z._default(whole(1, MAX_ITEMS), 10), "how many messages"),
      waitSeconds,
      lease: field(z.optional(z.boolean()), "only lease them: they come again unless they are acked"),
    },
    args: ["queue"],
    run: pop,
  }),
  operation({
    name: "ephemeral peek",
    summary: "Look at the oldest messages. Nothing is leased.",
    input: { queue, partition, limit: field(z._default(whole(1, 100), 10), "how many messages, up to 100") },
    args: ["queue"],
    run: (api, { queue: name, ...query }) => api.get(v1`ephemeral/queues/${name}/peek`, query),
  }),
  operation({
    name: "ephemeral tail",
    summary:
      "Show messages as they come, as one more group: the others get all of theirs, and what no group has waited for is consumed.",
    input: {
      queue,
      partition,
      group: field(z.optional(z.string()), "the group of the last call, to go on from there"),
      waitSeconds: field(z._default(whole(0, MAX_WAIT_SECONDS), 10), "how long to wait for the first message, in s"),
    },
    args: ["queue"],
    run: tail,
  }),
  operation({
    name: "ephemeral depth",
    summary: "Show what a queue holds, by partition and group.",
    input: { queue, group },
    args: ["queue"],
    run: (api, { queue: name, group: of }) => api.get(v1`ephemeral/queues/${name}/depth`, { group: of }),
  }),
  operation({
    name: "ephemeral groups",
    summary: "List the groups of a queue and what each has not settled.",
    input: { queue },
    args: ["queue"],
    run: async (api, { queue: name }) =>
      (await api.get<{ groups: unknown[] }>(v1`ephemeral/queues/${name}/depth`)).groups,
  }),
  operation({
    name: "ephemeral drop-group",
    summary: "Delete a group: it pins no messages any more.",
    input: { queue, group: field(z.string(), "the group") },
    args: ["queue", "group"],
    isDestructive: true,
    run: (api, { queue: name, group: of }) => api.delete(v1`ephemeral/queues/${name}/groups/${of}`),
  }),
  operation({
    name: "ephemeral configure",
    summary: "Declare a queue, or change its options. What is not given has its default.",
    input: { queue, ...optionFields() },
    args: ["queue"],
    run: (api, { queue: name, windowMs, windowCount, ...options }) =>
      api.post(v1`ephemeral/configure`, { queue: name, options: { ...options, ...windowOf(windowMs, windowCount) } }),
  }),
  operation({
    name: "ephemeral reset",
    summary: "Remove every message of a queue. Its groups and options stay.",
    input: { queue },
    args: ["queue"],
    isDestructive: true,
    run: (api, { queue: name }) => api.post(v1`ephemeral/reset`, { queue: name }),
  }),
  operation({
    name: "ephemeral rm",
    summary: "Delete a queue with its messages, groups and options.",
    input: { queue },
    args: ["queue"],
    isDestructive: true,
    run: (api, { queue: name }) => api.delete(v1`ephemeral/queue/${name}`),
  }),
];

function optionFields() {
  const { policy } = declaredOptions.shape;
  return {
    maxLength: amount("messages that one owner holds"),
    maxBytes: amount("bytes that one owner holds"),
    policy: field(policy, "what a push into a full queue does: fail, or evict the oldest messages"),
    ttlSeconds: amount("drop messages that are older, consumed or not; 0 = never"),
    leaseSeconds: amount("how long a popped message is leased"),
    retryLimit: amount("deliveries before a message is given up"),
    windowMs: amount("how long a waiting pop with messages in hand waits for more, in ms"),
    windowCount: amount("how many messages end that wait"),
    groupIdleSeconds: amount("after how long a group that pops no more stops pinning messages; 0 = never"),
  };
}

function amount(description: string) {
  return field(z.optional(whole(0, Number.MAX_SAFE_INTEGER)), description);
}

function windowOf(ms: number | undefined, count: number | undefined) {
  return ms === undefined && count === undefined ? {} : { windowBuffer: { ms: ms ?? 0, count: count ?? 0 } };
}

interface PopInput {
  queue: string;
  partition?: string | undefined;
  group?: string | undefined;
  limit: number;
  waitSeconds: number;
  lease?: boolean | undefined;
}

function pop(api: Api, { queue: name, limit, waitSeconds: seconds, lease, ...from }: PopInput): Promise<Popped> {
  const waitMs = seconds * 1000;
  const query = { queue: name, ...from, batch: limit, wait: seconds > 0, timeout: waitMs, autoAck: lease !== true };
  return api.get<Popped>(v1`ephemeral/pop`, query, waitMs);
}

/** How many messages one call brings. */
const TAIL_MESSAGES = 100;

type TailInput = Omit<PopInput, "limit" | "lease">;

async function tail(api: Api, { group: given, ...rest }: TailInput) {
  const of = given ?? `tail-${crypto.randomUUID()}`;
  const { messages } = await pop(api, { ...rest, group: of, limit: TAIL_MESSAGES });
  return { messages, group: of };
}
