import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** The lines of a stream that hold anything, by as many as fit a batch. */
export async function* batchesOfLines(input: Readable, maxLines: number, maxChars: number): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let chars = 0;
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() === "") continue;
    if (batch.length >= maxLines || (batch.length > 0 && chars + line.length > maxChars)) {
      yield batch;
      batch = [];
      chars = 0;
    }
    batch.push(line);
    chars += line.length;
  }
  if (batch.length > 0) yield batch;
}
