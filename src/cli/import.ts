import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { WaggleError } from "../client/error.ts";
import { v1, type Api } from "../operations/api.ts";
import type { Context } from "./context.ts";
import { isEnd, isHead, type HeadLine, type MessageLine } from "./eject-file.ts";
import { UsageError } from "./exit.ts";
import { keepHeapSmall } from "./small-heap.ts";
import type { Verb } from "./verbs.ts";
import { linesOf } from "./lines.ts";
import { unwrap, type ContentType, type WrappedBody } from "./wrap.ts";

interface Options {
  file?: string;
  again?: true;
}

type Line = MessageLine & WrappedBody & { content_type: ContentType; due_on: string | null; origin: unknown };

interface Taken {
  imported: number;
  repeated: number;
}

const BATCH_MESSAGES = 100;
const BATCH_CHARS = 256_000;

export const importVerb: Verb = {
  configure(command) {
    command
      .description(
        "Put an ejected queue back. Repeated after a break, it goes on where it ended: nothing is stored twice.",
      )
      .argument("[queue]", "where to; the name in the file when absent")
      .option("--file <file>", "what to read; standard input when absent")
      .option("--again", "store the messages once more, though this file was imported before");
  },
  async run(context, _operation, [queue], options: Options) {
    const { file } = options;
    if (file === undefined && process.stdin.isTTY) throw new UsageError("give a file, or one on standard input");
    keepHeapSmall();
    const input = file === undefined ? process.stdin : createReadStream(file);
    await importLines(context, input, queue as string | undefined, options);
  },
};

async function importLines(
  context: Context,
  input: Readable,
  named: string | undefined,
  { again }: Options,
): Promise<void> {
  const api = context.api();
  let importer: Importer | null = null;
  let isWhole = false;
  for await (const text of linesOf(input)) {
    const line = parsed(text);
    if (importer === null) {
      if (!isHead(line)) throw new UsageError("this is no ejected queue: its first line holds no settings");
      const queue = named ?? line.queue;
      await declare(api, line, queue);
      importer = new Importer(api, line, queue, again === true ? crypto.randomUUID() : line.eject_id);
    } else if (isEnd(line)) isWhole = true;
    else await importer.add(line as Line, text);
    if (importer.isFull) {
      await importer.flush();
      context.output.progress(`${importer.taken.imported} messages stored, ${importer.taken.repeated} were there`);
    }
  }
  if (importer === null) throw new UsageError("there is nothing to import: the file is empty");
  await importer.flush();
  context.output.endProgress();
  const { imported, repeated } = importer.taken;
  const { queue } = importer;
  if (context.output.isJson) await context.output.line(JSON.stringify({ queue, imported, repeated, whole: isWhole }));
  else await context.output.line(`${imported} messages stored in ${queue}, ${repeated} were there already.`);
  if (!isWhole) throw new Error("the file has no end: it was cut off when it was written");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The last line of a file that was cut off.
    throw new Error(`a line is not JSON: ${text.slice(0, 60)}`);
  }
}

/** A queue that is there keeps its settings. */
async function declare(api: Api, { kind, settings }: HeadLine, queue: string): Promise<void> {
  if (kind === "ephemeral") {
    const { tier, options } = settings;
    if (tier === "declared") await api.post(v1`ephemeral/configure`, { queue, options });
    return;
  }
  try {
    await api.get(v1`queues/${queue}`);
  } catch (error) {
    if (!(error instanceof WaggleError) || error.status !== 404) throw error;
    await api.post(v1`queues`, { queue_name: queue, settings });
  }
}

/** Stores messages of one file, by the batch. */
class Importer {
  readonly queue: string;
  readonly taken: Taken = { imported: 0, repeated: 0 };
  readonly #api: Api;
  readonly #kind: HeadLine["kind"];
  readonly #source: string;
  #partition = "";
  #batch: unknown[] = [];
  #chars = 0;

  constructor(api: Api, { kind }: HeadLine, queue: string, source: string) {
    this.#api = api;
    this.#kind = kind;
    this.queue = queue;
    this.#source = source;
  }

  get isFull(): boolean {
    return this.#batch.length >= BATCH_MESSAGES || this.#chars >= BATCH_CHARS;
  }

  async add(line: Line, text: string): Promise<void> {
    if (line.partition !== this.#partition || this.#chars + text.length > BATCH_CHARS) await this.flush();
    this.#partition = line.partition;
    this.#batch.push(this.#kind === "durable" ? durableShape(line, text) : { number: line.number, payload: line.body });
    this.#chars += text.length;
  }

  async flush(): Promise<void> {
    if (this.#batch.length === 0) return;
    const body = { source: this.#source, partition: this.#partition, messages: this.#batch };
    const { imported, repeated } =
      this.#kind === "durable"
        ? await this.#api.post<Taken>(v1`queues/${this.queue}/import`, body)
        : await this.#api.post<Taken>(v1`ephemeral/import`, { queue: this.queue, ...body });
    this.taken.imported += imported;
    this.taken.repeated += repeated;
    this.#batch = [];
    this.#chars = 0;
  }
}

function durableShape(line: Line, text: string) {
  const { number, id, content_type, enqueued_on, due_on, attempts, origin } = line;
  return {
    number,
    id,
    content_type,
    body: unwrap(content_type, line, text),
    timestamp_ms: Date.parse(enqueued_on),
    due_at_ms: due_on === null ? undefined : Date.parse(due_on),
    attempts,
    origin,
  };
}
