import { decodeBase64Url, encodeBase64Url } from "./base64.ts";

/**
 * Names of messages as clients carry them. They say which partition to ask, and hold the message's own id, since a number
 * may be used again.
 */

export interface Ref {
  partition: string;
  seq: number;
  id: string;
}

/** A delivery to a pull client. */
export interface LeaseRef extends Ref {
  /** The number of the consumer's cursor. */
  cursor: number;
}

export function refOf({ partition, seq, id }: Ref): string {
  return encodeBase64Url(JSON.stringify([partition, seq, id]));
}

export function parseRef(ref: string): Ref | null {
  const [partition, seq, id, ...rest] = fields(ref);
  if (typeof partition !== "string" || typeof seq !== "number" || typeof id !== "string" || rest.length > 0)
    return null;
  return { partition, seq, id };
}

export function leaseOf({ partition, seq, id, cursor }: LeaseRef): string {
  return encodeBase64Url(JSON.stringify([partition, seq, id, cursor]));
}

export function parseLease(lease: string): LeaseRef | null {
  const [partition, seq, id, cursor, ...rest] = fields(lease);
  if (typeof partition !== "string" || typeof seq !== "number" || typeof id !== "string") return null;
  return typeof cursor === "number" && rest.length === 0 ? { partition, seq, id, cursor } : null;
}

function fields(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(decodeBase64Url(text));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
