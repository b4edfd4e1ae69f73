import { setFlagsFromString } from "node:v8";

/**
 * Keeps the heap close to what is alive. Left alone it grows as far as the machine allows before anything is collected, which
 * for a stream of a million lines is as much as the stream.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--optimize-for-size");
}
