import { idsOf, partitionsIn } from "../engine/ids.ts";
import type { EphemeralNeed } from "./need.ts";

/**
 * An ack is judged by the partition in each of its ids. An id that is none names no partition: no owner is asked for it,
 * and its outcome is `unknown`.
 */
export function ackNeed(ack: { queue: string; group: string; acks: readonly { id: string }[] }): EphemeralNeed {
  const { queue, group, acks } = ack;
  return { of: "ephemeral", verb: "ack", queue, partitions: partitionsIn(idsOf(acks)), group };
}
