import { decodeBase64Url, encodeBase64Url } from "./base64.ts";

/** Places in the logs of a queue's partitions, as a client carries them from one call to the next. */

/** The place after everything that there is. */
export const END = "end";

/** The place before everything that there is. */
export const START = "start";

export function placesText(places: Iterable<[partition: string, number: number]>): string {
  return encodeBase64Url(JSON.stringify([...places]));
}

/** null = the text is none of these. */
export function parsePlaces(text: string): Map<string, number> | null {
  if (text === START) return new Map();
  try {
    const places: unknown = JSON.parse(decodeBase64Url(text));
    return Array.isArray(places) && places.every(isPlace) ? new Map(places) : null;
  } catch {
    return null;
  }
}

function isPlace(value: unknown): value is [string, number] {
  return Array.isArray(value) && typeof value[0] === "string" && Number.isSafeInteger(value[1]) && value[1] >= 0;
}
