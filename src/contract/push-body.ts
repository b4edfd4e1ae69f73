import { WaggleError } from "./errors.ts";
import type { JsonScanner } from "./json-scanner.ts";
import { scanned, type BodyText } from "./json-text.ts";
import { MAX_ITEMS } from "./limits.ts";
import { parse } from "./parse.ts";
import { partitionOf, pushHead } from "./requests.ts";

export interface Push {
  queue: string;
  partition: string;
  /** Each payload as the exact text that was sent. */
  payloads: string[];
  isAscii: boolean;
  /** The key that makes a repeat harmless, and whether somebody must be there to take the messages. */
  options: { key: string | undefined; requireResponders: boolean };
}

/** What is read of a push beside its messages. */
const HEAD: ReadonlySet<string> = new Set(["queue", "partition", "key", "requireResponders"]);
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/**
 * Reads a push. The payloads are cut out of the body and never parsed: `1.0` stays `1.0`, a 20-digit integer keeps its
 * digits, and a payload may nest as deep as it likes. Of a repeated key the last counts, as with `JSON.parse`.
 * `ownQueue` is the one that is meant when none is named.
 */
export function readPush({ text, isAscii }: BodyText, ownQueue?: string): Push {
  const head: Record<string, string> = {};
  if (ownQueue !== undefined) head["queue"] = JSON.stringify(ownQueue);
  const { payloads, problem } = scanned(text, readMembers, head);
  if (problem !== null && payloads === null) throw bad(problem);
  const { queue, partition, key, requireResponders } = parse(pushHead, {
    queue: scalar(head["queue"]),
    partition: scalar(head["partition"]),
    key: scalar(head["key"]),
    requireResponders: scalar(head["requireResponders"]),
  });
  if (payloads === null) throw bad("messages is required");
  if (problem !== null) throw bad(problem);
  const options = { key: key ?? undefined, requireResponders: requireResponders ?? false };
  return { queue, partition: partitionOf({ partition }), payloads, isAscii, options };
}

/** The payloads of a push, and what is wrong with them: a body that is no JSON at all is told first. */
interface Read {
  payloads: string[] | null;
  problem: string | null;
}

function readMembers(scanner: JsonScanner, head: Record<string, string>): Read {
  let read: Read = { payloads: null, problem: null };
  if (scanner.peek() !== OPEN_BRACE) {
    scanner.skip();
    return { payloads: null, problem: "the body must be an object" };
  }
  for (let key = scanner.firstKey(); key !== null; key = scanner.nextKey()) {
    if (key === "messages") read = readMessages(scanner);
    else if (HEAD.has(key)) head[key] = scanner.value();
    else scanner.skip();
  }
  return read;
}

function readMessages(scanner: JsonScanner): Read {
  if (scanner.peek() !== OPEN_BRACKET) {
    scanner.skip();
    return { payloads: null, problem: "messages must be an array" };
  }
  const payloads: string[] = [];
  let problem: string | null = null;
  let count = 0;
  for (let more = scanner.firstElement(); more; more = scanner.nextElement()) {
    const index = count++;
    if (scanner.peek() !== OPEN_BRACE) {
      scanner.skip();
      problem ??= `messages[${index}] must be an object`;
      continue;
    }
    const payload = readPayload(scanner);
    if (payload === null) problem ??= `messages[${index}].payload is required`;
    else if (count <= MAX_ITEMS) payloads.push(payload);
  }
  if (count > MAX_ITEMS) problem = `messages holds ${count} items; at most ${MAX_ITEMS} are allowed`;
  return { payloads, problem };
}

function readPayload(scanner: JsonScanner): string | null {
  let payload: string | null = null;
  for (let key = scanner.firstKey(); key !== null; key = scanner.nextKey()) {
    if (key === "payload") payload = scanner.value();
    else scanner.skip();
  }
  return payload;
}

/** A name of the envelope. Anything that opens a bracket is of the wrong type, however deep it goes. */
export function scalar(raw: string | undefined): unknown {
  if (raw === undefined) return undefined;
  if (raw.startsWith("{")) return {};
  if (raw.startsWith("[")) return [];
  return JSON.parse(raw);
}

export function bad(problem: string): WaggleError {
  return new WaggleError("ephemeral_bad_request", problem);
}
