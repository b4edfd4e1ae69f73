import { parseMessageId } from "../engine/ids.ts";
import type { EphemeralNeed } from "./need.ts";

/**
 * An ack is judged by the partition in each of its ids. An id that is none names no partition: no owner is asked for it,
 * and its outcome is `unknown`.
 */
export function ackNeed(ack: { queue: string; group: string; ids: readonly string[] }): EphemeralNeed {
  const { queue, group, ids } = ack;
  const partitions = new Set<string>();
  for (const id of ids) {
    const parsed = parseMessageId(id);
    if (parsed !== null) partitions.add(parsed.partition);
  }
  return { of: "ephemeral", verb: "ack", queue, partitions: [...partitions], group };
}
