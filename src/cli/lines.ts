import type { Readable } from "node:stream";

/** The lines of a stream that hold anything. Only line feeds end them: JSON may hold what else Unicode calls a line break. */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of input.setEncoding("utf8")) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield line;
  }
  if (rest.trim() !== "") yield rest;
}

/** Lines by as many as fit a batch. */
export async function* batchesOfLines(input: Readable, maxLines: number, maxChars: number): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let chars = 0;
  for await (const line of linesOf(input)) {
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
