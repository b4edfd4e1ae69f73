import * as z from "zod/mini";
import type { JsonScanner } from "./json-scanner.ts";
import { scanned, type BodyText } from "./json-text.ts";
import { MAX_ITEMS } from "./limits.ts";
import { name } from "./names.ts";
import { parse } from "./parse.ts";
import { bad, scalar } from "./push-body.ts";

/** An import without its payloads, which stay raw text. */
export const importHead = z.object({
  queue: name,
  source: z.string().check(z.regex(/^[!-~]{1,64}$/, "must be a name of 1 to 64 printable ASCII characters")),
  partition: name,
  messages: z.array(z.object({ number: z.number().check(z.int(), z.positive()) })).check(
    z.minLength(1),
    z.maxLength(MAX_ITEMS),
    z.refine(
      (messages) => messages.every(({ number }, i) => number > (messages[i - 1]?.number ?? 0)),
      "must hold numbers that grow",
    ),
  ),
});

export interface Import {
  queue: string;
  source: string;
  partition: string;
  numbers: number[];
  /** Each payload as the exact text that was sent. */
  payloads: string[];
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Reads an import. Like those of a push, its payloads are cut out of the body and never parsed. */
export function readImport({ text }: BodyText): Import {
  const read: Read = { head: {}, messages: [], payloads: [] };
  scanned(text, readMembers, read);
  const { queue, source, partition, messages: numbered } = parse(importHead, read.head);
  return { queue, source, partition, numbers: numbered.map(({ number }) => number), payloads: read.payloads };
}

interface Read {
  head: Record<string, unknown>;
  messages: { number: unknown }[];
  payloads: string[];
}

function readMembers(scanner: JsonScanner, read: Read): void {
  if (scanner.peek() !== OPEN_BRACE) throw bad("the body must be an object");
  for (let key = scanner.firstKey(); key !== null; key = scanner.nextKey()) {
    if (key === "messages") readMessages(scanner, read);
    else if (Object.hasOwn(importHead.shape, key)) read.head[key] = scalar(scanner.value());
    else scanner.skip();
  }
}

function readMessages(scanner: JsonScanner, { head, messages, payloads }: Read): void {
  if (scanner.peek() !== OPEN_BRACKET) throw bad("messages must be an array");
  head["messages"] = messages;
  for (let more = scanner.firstElement(); more; more = scanner.nextElement()) {
    const index = messages.length;
    if (scanner.peek() !== OPEN_BRACE) throw bad(`messages[${index}] must be an object`);
    let number: unknown;
    let payload: string | null = null;
    for (let key = scanner.firstKey(); key !== null; key = scanner.nextKey()) {
      if (key === "number") number = scalar(scanner.value());
      else if (key === "payload") payload = scanner.value();
      else scanner.skip();
    }
    if (payload === null) throw bad(`messages[${index}].payload is required`);
    messages.push({ number });
    payloads.push(payload);
  }
}
