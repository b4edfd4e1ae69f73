import * as z from "zod/mini";
import { JsonScanner } from "./json-scanner.ts";
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
  const head: Record<string, unknown> = {};
  const messages: { number: unknown }[] = [];
  const payloads: string[] = [];
  scanned(() => {
    const scanner = new JsonScanner(text);
    if (scanner.peek() !== OPEN_BRACE) throw bad("the body must be an object");
    scanner.object((key) => {
      if (key === "messages") {
        head[key] = messages;
        readMessages(scanner, messages, payloads);
      } else if (Object.hasOwn(importHead.shape, key)) head[key] = scalar(scanner.value());
      else scanner.skip();
    });
    scanner.end();
  });
  const { queue, source, partition, messages: numbered } = parse(importHead, head);
  return { queue, source, partition, numbers: numbered.map(({ number }) => number), payloads };
}

function readMessages(scanner: JsonScanner, messages: { number: unknown }[], payloads: string[]): void {
  if (scanner.peek() !== OPEN_BRACKET) throw bad("messages must be an array");
  scanner.array((index) => {
    if (scanner.peek() !== OPEN_BRACE) throw bad(`messages[${index}] must be an object`);
    let number: unknown;
    let payload: string | null = null;
    scanner.object((key) => {
      if (key === "number") number = scalar(scanner.value());
      else if (key === "payload") payload = scanner.value();
      else scanner.skip();
    });
    if (payload === null) throw bad(`messages[${index}].payload is required`);
    messages.push({ number });
    payloads.push(payload);
  });
}
