import { refuse, type Refusal } from "../contract/errors.ts";
import type { QueueOptions } from "../contract/options.ts";
import { COST } from "./context.ts";
import type { Queue } from "./queue.ts";

/** The oldest messages of the target partition that must go for a push to fit. */
export interface Eviction {
  messages: number;
  /** Memory that this frees. */
  memory: number;
}

/**
 * Decides, before anything is changed, whether a push fits the queue's bounds: as it is, after an eviction from its own
 * partition, or never. The queue may not exist yet. Refused: `queue_full`.
 */
export function planEviction(
  name: string,
  queue: Queue | undefined,
  { maxLength, maxBytes, policy }: QueueOptions,
  partition: string,
  count: number,
  bytes: number,
): Eviction | Refusal {
  const plan: Eviction = { messages: 0, memory: 0 };
  let length = (queue?.length ?? 0) + count;
  let total = (queue?.bytes ?? 0) + bytes;
  const fits = () => length <= maxLength && total <= maxBytes;
  if (fits()) return plan;
  const full = refuse(
    "queue_full",
    `queue ${JSON.stringify(name)} holds ${length - count} messages (${total - bytes} bytes) and has no room for ${count} more (${bytes} bytes): maxLength is ${maxLength}, maxBytes is ${maxBytes}`,
  );
  if (policy === "reject") return full;
  const ring = queue?.rings.get(partition);
  if (ring === undefined) return full;
  if (length - ring.messages.size > maxLength || total - ring.bytes > maxBytes) return full;
  for (const message of ring.messages) {
    if (fits()) break;
    plan.messages++;
    plan.memory += message.width + COST.message;
    length--;
    total -= message.bytes;
  }
  return plan;
}
