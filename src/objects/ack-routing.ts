import type { Ack, Outcome } from "../engine/engine.ts";
import { parseMessageId } from "../engine/ids.ts";

/**
 * Takes acks to the owners that hold their messages; the ids say which. One outcome per ack, in order. An id that is none
 * is `unknown`, and nobody is asked for it.
 */
export async function routeAcks(
  acks: readonly Ack[],
  ownerOf: (partition: string) => number,
  settle: (owner: number, part: readonly Ack[]) => Outcome[] | Promise<Outcome[]>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = acks.map(() => "unknown");
  const byOwner = new Map<number, number[]>();
  acks.forEach(({ id }, index) => {
    const parsed = parseMessageId(id);
    if (parsed === null) return;
    const owner = ownerOf(parsed.partition);
    const indices = byOwner.get(owner);
    if (indices === undefined) byOwner.set(owner, [index]);
    else indices.push(index);
  });
  await Promise.all(
    Array.from(byOwner, async ([owner, indices]) => {
      const settled = await settle(
        owner,
        indices.map((index) => acks[index] as Ack),
      );
      indices.forEach((index, i) => {
        outcomes[index] = settled[i] ?? "unknown";
      });
    }),
  );
  return outcomes;
}
