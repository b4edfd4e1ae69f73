import type { Handed } from "./batch.ts";
import type { EngineContext } from "./context.ts";
import { parseMessageId, type MessageId } from "./ids.ts";
import type { Queue } from "./queue.ts";
import type { Ack, Outcome } from "./requests.ts";

/** What becomes of messages that were handed over, by what their holders say, and of those that somebody removes. */

/** Settles one delivery; `id` is what the ack's id says. */
export function ackOne(
  context: EngineContext,
  queue: Queue | undefined,
  groupName: string,
  ack: Ack,
  id: MessageId | null,
): Outcome {
  if (id === null) return "unknown";
  if (id.incarnation !== context.incarnation) return "stale";
  const cursor = queue?.rings.get(id.partition)?.cursors.get(groupName);
  const delivery = cursor?.deliveries.get(id.seq);
  if (cursor === undefined || delivery === undefined || delivery.state === "returned") return "unknown";
  if (ack.attempts !== undefined && ack.attempts !== delivery.attempts) return "unknown";
  if (ack.status !== "completed") return cursor.retry(delivery) ? "redelivered" : "acked";
  cursor.complete(delivery);
  return "acked";
}

/** The holder of deliveries has finished with their messages for good. Answers how many of them were still its own. */
export function complete(queue: Queue | undefined, groupName: string, handed: readonly Handed[]): number {
  let completed = 0;
  for (const { partition, seqs, attempts } of handed) {
    const cursor = queue?.rings.get(partition)?.cursors.get(groupName);
    if (cursor === undefined) continue;
    for (let i = 0; i < seqs.length; i++) {
      const delivery = cursor.deliveries.get(seqs[i] as number);
      if (delivery === undefined || delivery.state === "returned" || delivery.attempts !== attempts[i]) continue;
      cursor.complete(delivery);
      completed++;
    }
  }
  return completed;
}

/** Takes deliveries back; with `reached` they count, without it is as if they had not been made. */
export function release(
  queue: Queue | undefined,
  groupName: string,
  handed: readonly Handed[],
  reached: boolean,
): void {
  for (const { partition, seqs, attempts } of handed) {
    const cursor = queue?.rings.get(partition)?.cursors.get(groupName);
    seqs.forEach((seq, index) => {
      const delivery = cursor?.deliveries.get(seq);
      // A lease that ran out meanwhile may be somebody else's by now.
      if (delivery?.state === "leased" && delivery.attempts === attempts[index]) cursor?.release(delivery, reached);
    });
  }
}

/** Removes messages, whichever groups have them or still need them. Answers how many were here. */
export function discard(context: EngineContext, queue: Queue | undefined, ids: readonly string[]): number {
  const wanted = new Map<string, Set<number>>();
  for (const id of ids.map(parseMessageId)) {
    if (id?.incarnation !== context.incarnation) continue;
    wanted.set(id.partition, (wanted.get(id.partition) ?? new Set()).add(id.seq));
  }
  let discarded = 0;
  for (const [partition, seqs] of wanted) {
    const ring = queue?.rings.get(partition);
    if (queue === undefined || ring === undefined) continue;
    for (const message of ring.messages) {
      if (seqs.size === 0) break;
      if (!seqs.delete(message.seq)) continue;
      ring.discard(message);
      discarded++;
    }
    queue.reviewWindows(ring);
  }
  return discarded;
}
