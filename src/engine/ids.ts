/**
 * The id of a delivered message, `e:<incarnation>:<partition>:<seq>`. A partition's name may hold colons, so an id is
 * read from both ends.
 */
export interface MessageId {
  incarnation: string;
  partition: string;
  seq: number;
}

const INCARNATION = /^[0-9a-f]{1,16}$/;
const MAX_SEQ_DIGITS = 16;
/** What a client makes up may be of any length, and is not held on to. */
const MAX_HEAD_CHARS = 512;
const ZERO = 0x30;

export function formatMessageId(id: MessageId): string {
  return `e:${id.incarnation}:${id.partition}:${id.seq}`;
}

interface Head {
  text: string;
  incarnation: string;
  partition: string;
}

/** Ids come in runs that differ in nothing but their numbers: what stands before those is read once. */
let lastHead: Head | null = null;

/** The parts of an id, or null when the text is not one. */
export function parseMessageId(text: string): MessageId | null {
  let head = lastHead;
  let seq = head !== null && text.startsWith(head.text) ? seqAt(text, head.text.length) : -1;
  // Another partition may begin as that one does.
  if (head === null || seq < 0) {
    head = headOf(text);
    seq = head === null ? -1 : seqAt(text, head.text.length);
    if (head === null || seq < 0) return null;
    if (head.text.length <= MAX_HEAD_CHARS) lastHead = head;
  }
  return { incarnation: head.incarnation, partition: head.partition, seq };
}

/** The number that a text ends with, as it is written: -1 when it is none. */
function seqAt(text: string, from: number): number {
  const digits = text.length - from;
  if (digits < 1 || digits > MAX_SEQ_DIGITS || (digits > 1 && text.charCodeAt(from) === ZERO)) return -1;
  let seq = 0;
  for (let at = from; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    seq = 10 * seq + digit;
  }
  return seq;
}

function headOf(text: string): Head | null {
  const first = text.indexOf(":", 2);
  const last = text.lastIndexOf(":");
  if (!text.startsWith("e:") || first < 0 || last <= first + 1) return null;
  const incarnation = text.slice(2, first);
  if (!INCARNATION.test(incarnation)) return null;
  return { text: text.slice(0, last + 1), incarnation, partition: text.slice(first + 1, last) };
}

/** What ids say, one by one; null = one that is none. */
export function idsOf(named: readonly { id: string }[]): (MessageId | null)[] {
  const ids: (MessageId | null)[] = [];
  for (const { id } of named) ids.push(parseMessageId(id));
  return ids;
}

/** The partitions that ids name; one that is no id names none. */
export function partitionsIn(ids: readonly (MessageId | null)[]): string[] {
  const partitions = new Set<string>();
  let last: string | null = null;
  for (const id of ids) {
    // They come in runs.
    if (id === null || id.partition === last) continue;
    last = id.partition;
    partitions.add(last);
  }
  return [...partitions];
}

/** A random 64-bit number in lowercase hex: no two lives of an owner share one. */
export function newIncarnation(): string {
  const [value = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return value.toString(16);
}
