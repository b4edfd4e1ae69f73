/**
 * Memory is per isolate and shared by the objects in it, so it is counted over all of them. Each instance sets its own
 * entry and zeroes it when it starts: hibernation drops an object without a word while this map stays, so that a running
 * total would only ever grow.
 */
const held = new Map<string, number>();

export function setHeld(object: string, bytes: number): void {
  held.set(object, bytes);
}

/** What all objects of this isolate hold, in bytes. */
export function heldByIsolate(): number {
  let total = 0;
  for (const bytes of held.values()) total += bytes;
  return total;
}
