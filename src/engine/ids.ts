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
const SEQ = /^(?:0|[1-9][0-9]{0,15})$/;

export function formatMessageId(id: MessageId): string {
  return `e:${id.incarnation}:${id.partition}:${id.seq}`;
}

/** The parts of an id, or null when the text is not one. */
export function parseMessageId(text: string): MessageId | null {
  const first = text.indexOf(":", 2);
  const last = text.lastIndexOf(":");
  if (!text.startsWith("e:") || first < 0 || last <= first + 1) return null;
  const incarnation = text.slice(2, first);
  const seq = text.slice(last + 1);
  if (!INCARNATION.test(incarnation) || !SEQ.test(seq)) return null;
  return { incarnation, partition: text.slice(first + 1, last), seq: Number(seq) };
}

/** A random 64-bit number in lowercase hex: no two lives of an owner share one. */
export function newIncarnation(): string {
  const [value = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return value.toString(16);
}
