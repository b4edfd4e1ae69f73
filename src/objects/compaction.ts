import type { Segment } from "../engine/ledger.ts";

/** What rows may hold of messages that are gone, in bytes, before the sparsest of them are written anew. */
const WASTE_BYTES = 16 * 1024 * 1024;
/** How many rows with messages there may be. */
const ROWS = 512;

/**
 * The rows that are worth writing anew. A row lives for as long as one of its messages does, so that one slow partition
 * beside a busy one would keep megabytes for single messages, and an owner would have to read them all when it starts.
 * Messages are written once otherwise; here those with the least left beside them are, until half of the excess is gone.
 */
export function sparseSegments(segments: readonly Segment[], heldBytes: number): Set<Segment> {
  const allowed = Math.max(WASTE_BYTES, heldBytes / 2);
  let waste = segments.reduce((sum, { bytes, liveBytes }) => sum + bytes - liveBytes, 0);
  let rows = segments.length;
  const chosen = new Set<Segment>();
  if (waste <= allowed && rows <= ROWS) return chosen;
  for (const segment of segments.toSorted((a, b) => a.liveBytes - b.liveBytes)) {
    if (waste <= allowed / 2 && rows <= ROWS / 2) break;
    chosen.add(segment);
    waste -= segment.bytes - segment.liveBytes;
    rows--;
  }
  return chosen;
}
