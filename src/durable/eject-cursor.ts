import { decodeBase64Url, encodeBase64Url } from "./base64.ts";

/** A row of a partition, or the place before it: the log first, in its order, then delayed rows by when they are due. */
export interface Place {
  /** 0 = in the log. */
  due: number;
  /** Of a message in the log, or of a delayed row. */
  number: number;
}

/** What was in a partition when a moment began: nothing from these numbers on. */
export interface Bounds {
  tail: number;
  delayed: number;
}

/** How far an eject has come in one partition. */
export interface EjectCursor {
  ejectId: string;
  bounds: Bounds;
  at: Place;
}

/** A cursor as a client carries it; it says which partition to ask. */
export function cursorText(partition: string, { ejectId, bounds, at }: EjectCursor): string {
  return encodeBase64Url(JSON.stringify([partition, ejectId, bounds.tail, bounds.delayed, at.due, at.number]));
}

/** null = the text is none. */
export function parseCursor(text: string): { partition: string; cursor: EjectCursor } | null {
  try {
    const fields: unknown = JSON.parse(decodeBase64Url(text));
    if (!Array.isArray(fields) || fields.length !== 6) return null;
    const [partition, ejectId, ...numbers] = fields as [unknown, unknown, ...unknown[]];
    if (typeof partition !== "string" || typeof ejectId !== "string" || !numbers.every(isNumber)) return null;
    const [tail, delayed, due, number] = numbers as [number, number, number, number];
    return { partition, cursor: { ejectId, bounds: { tail, delayed }, at: { due, number } } };
  } catch {
    return null;
  }
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
