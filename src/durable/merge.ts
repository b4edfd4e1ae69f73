import type { PeekedMessage } from "./message.ts";

/**
 * Up to `limit` messages of several runs, the oldest first, where each run keeps its own order. `heads` are the first ones of
 * each run that were left; undefined = it was taken whole.
 */
export function merged(
  runs: readonly { messages: readonly PeekedMessage[] }[],
  limit: number,
): { messages: PeekedMessage[]; heads: (PeekedMessage | undefined)[] } {
  const rest = runs.map(({ messages }) => messages.values());
  const heads = rest.map((messages) => messages.next().value);
  const taken: PeekedMessage[] = [];
  while (taken.length < limit) {
    const oldest = heads.reduce<number | null>((best, head, i) => {
      if (head === undefined) return best;
      return best === null || head.sentAt < (heads[best]?.sentAt ?? Infinity) ? i : best;
    }, null);
    const head = oldest === null ? undefined : heads[oldest];
    if (oldest === null || head === undefined) break;
    taken.push(head);
    heads[oldest] = rest[oldest]?.next().value;
  }
  return { messages: taken, heads };
}
