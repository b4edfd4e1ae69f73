import { QUEUE_MODE } from "../contract/limits.ts";
import type { GroupDepth } from "../engine/views.ts";

/** Adds up what the owners of a queue hold for each group, sorted by name. */
export function mergeGroups(shares: readonly GroupDepth[][]): GroupDepth[] {
  const merged = new Map<string, GroupDepth>();
  for (const { group, pending, skipped } of shares.flat()) {
    const sum = merged.get(group) ?? { group, pending: 0, skipped: 0 };
    sum.pending += pending;
    sum.skipped += skipped;
    merged.set(group, sum);
  }
  return [...merged.values()].sort((a, b) => (a.group < b.group ? -1 : 1));
}

/** The group by which a queue is as deep as it looks: the named one that is furthest behind, else queue mode, else none. */
export function deepestGroup(groups: readonly GroupDepth[]): string | null {
  let deepest: GroupDepth | null = null;
  for (const group of groups) {
    if (group.group === QUEUE_MODE) continue;
    if (deepest === null || group.pending > deepest.pending) deepest = group;
  }
  return deepest?.group ?? groups[0]?.group ?? null;
}
