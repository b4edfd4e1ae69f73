import { decodeBase64Url, encodeBase64Url } from "../durable/base64.ts";
import type { EjectPlace } from "../engine/moments.ts";

/** How far an eject of an ephemeral queue has come in one partition, as a client carries it. */

export function ejectCursorText(partition: string, place: EjectPlace): string {
  const { ejectId, owner, takenAt, tail, next, after } = place;
  return encodeBase64Url(JSON.stringify([partition, ejectId, owner, takenAt, tail, next, after]));
}

/** null = the text is none. */
export function parseEjectCursor(text: string): { partition: string; place: EjectPlace } | null {
  try {
    const fields: unknown = JSON.parse(decodeBase64Url(text));
    if (!Array.isArray(fields) || fields.length !== 7) return null;
    const [partition, ejectId, ...numbers] = fields as [unknown, unknown, ...unknown[]];
    if (typeof partition !== "string" || typeof ejectId !== "string" || !numbers.every(Number.isSafeInteger))
      return null;
    const [owner, takenAt, tail, next, after] = numbers as [number, number, number, number, number];
    return { partition, place: { ejectId, owner, takenAt, tail, next, after } };
  } catch {
    return null;
  }
}
