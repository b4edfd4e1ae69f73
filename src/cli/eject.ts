import { fsyncSync } from "node:fs";
import type { Context } from "./context.ts";
import { durableSource } from "./eject-durable.ts";
import { ephemeralSource } from "./eject-ephemeral.ts";
import { FORMAT, type EndLine, type HeadLine } from "./eject-file.ts";
import { keepHeapSmall } from "./small-heap.ts";
import type { Verb } from "./verbs.ts";

/** A page of messages: each as a line, and what removes it. */
export interface Page {
  lines: string[];
  refs: string[];
  isRestarted: boolean;
  cursor: string | null;
}

/** A queue at one moment, whatever its kind. */
export interface Source {
  head: Omit<HeadLine, "format">;
  partitions: { partition: string; cursor: string }[];
  /** Messages from a cursor on; `number` is that of the first. */
  page(partition: string, cursor: string, number: number): Promise<Page>;
  /** Answers how many were not found: they have gone, or have got another name since. */
  remove(refs: readonly string[]): Promise<number>;
}

export const ejectVerb: Verb = {
  configure(command) {
    command
      .description("Write a whole queue to standard output: its settings, then one message a line, as of one moment.")
      .argument("<queue>", "the queue")
      .option("--ephemeral", "an in-memory queue")
      .option("--drain", "remove what has been written out")
      .addHelpText("after", "\n  waggle eject orders > orders.jsonl\n  waggle import orders < orders.jsonl");
  },
  async run(context, _operation, [queue], { ephemeral, drain }) {
    keepHeapSmall();
    const open = ephemeral === true ? ephemeralSource : durableSource;
    await eject(context, await open(context.api(), String(queue)), drain === true);
  },
};

/** Nothing but a page is in memory; the reader of the output sets the pace. */
async function eject(
  { output }: Context,
  { head, partitions, page, remove }: Source,
  isDraining: boolean,
): Promise<void> {
  await output.line(JSON.stringify({ format: FORMAT, ...head } satisfies HeadLine));
  let left = 0;
  const end: EndLine = { end: true, messages: 0, restarted: [] };
  const total = head.partitions.reduce((sum, { count }) => sum + count, 0);
  // A page of each in turn: the object of a partition that is left alone goes to sleep, and its moment with it.
  let open = partitions.map((begun) => ({ ...begun, number: 1 }));
  while (open.length > 0) {
    const next: typeof open = [];
    for (const { partition, cursor, number } of open) {
      const { lines, refs, isRestarted, cursor: rest } = await page(partition, cursor, number);
      if (lines.length > 0) await output.line(lines.join("\n"));
      if (isDraining && refs.length > 0) {
        await output.flush();
        toDisk();
        left += await remove(refs);
      }
      if (isRestarted && !end.restarted.includes(partition)) end.restarted.push(partition);
      end.messages += lines.length;
      output.progress(`${end.messages} of ${total} messages`);
      if (rest !== null) next.push({ partition, cursor: rest, number: number + lines.length });
    }
    open = next;
  }
  await output.line(JSON.stringify(end));
  output.endProgress();
  if (left > 0) output.note(`${left} of these were not there any more when they were to be removed`);
  if (end.restarted.length > 0) {
    output.note(`restarted meanwhile: ${end.restarted.join(", ")}; what was consumed there after that is missing`);
  }
}

/** What goes into a file is on the disk before anything is removed; a pipe has no disk. */
function toDisk(): void {
  try {
    fsyncSync(process.stdout.fd);
  } catch {
    // A pipe or a terminal.
  }
}
