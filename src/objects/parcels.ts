import type { RingExport } from "../engine/adopt.ts";
import type { Parcel } from "./protocol.ts";

/** A parcel's messages, in bytes: two of them still fit an RPC of 32 MiB, wide characters included. */
export const PARCEL_BYTES = 4 * 1024 * 1024;
/** What a message takes on the wire beside its text, roughly. */
const MESSAGE_BYTES = 64;

/** A partition, by name. */
export interface Place {
  queue: string;
  partition: string;
}

export function keyOf({ queue, partition }: Place): string {
  return `${queue}\u0000${partition}`;
}

export function bytesOf({ ring }: Parcel): number {
  const keys = (ring.keys?.keys ?? []).reduce((sum, key) => sum + key.length + MESSAGE_BYTES, 0);
  return ring.messages.reduce((sum, { payload }) => sum + payload.length + MESSAGE_BYTES, keys);
}

/** Cuts a partition into parcels that fit a call each. */
export function split(head: Pick<Parcel, "move" | "epoch" | "queue" | "groups">, ring: RingExport): Parcel[] {
  const { state, messages, ...rest } = ring;
  const pieces: RingExport["messages"][] = [[]];
  let bytes = 0;
  for (const message of messages) {
    const cost = message.payload.length + MESSAGE_BYTES;
    if (bytes > 0 && bytes + cost > PARCEL_BYTES) {
      pieces.push([]);
      bytes = 0;
    }
    pieces.at(-1)?.push(message);
    bytes += cost;
  }
  return pieces.map((piece, index) => ({
    ...head,
    index,
    last: index === pieces.length - 1,
    ring: {
      state: { ...state, queue: head.queue },
      messages: piece,
      // With the last, which makes it an arrival.
      ...(index === pieces.length - 1 ? rest : {}),
    },
  }));
}
