import type { ContentType, Origin, PackedMessages, StoredMessage } from "./message.ts";

/** Messages stored as one row: what is known of each in columns, and the bodies one after another. */
export interface Entry {
  head: Head;
  /** Has its buffer to itself. */
  bodies: Uint8Array<ArrayBuffer>;
  bytes: number;
  /** When the oldest of them was sent. */
  sentAt: number;
}

interface Head {
  ids: string[];
  types: ContentType[];
  lengths: number[];
  /** One for all, or one each. */
  sentAt: number | number[];
  /** Of dead letters. */
  origins?: (Origin | null)[];
  /** Deliveries elsewhere before they came here. */
  attempts?: number[];
}

/** A row holds at most as much as one batch may, and stays far below the 2 MB that a row can have. */
export const ENTRY_MESSAGES = 100;
const ENTRY_BYTES = 512 * 1024;

const CODES: Record<ContentType, string> = { json: "j", text: "t", bytes: "b", v8: "v" };
const TYPES = new Map(Object.entries(CODES).map(([type, code]) => [code, type as ContentType]));

export function countOf({ head }: Entry): number {
  return head.ids.length;
}

/** The columns of a row, and back. Types are a letter each: most rows hold one short message. */
export function headText({ ids, types, lengths, sentAt, origins, attempts }: Head): string {
  const columns: unknown[] = [ids, types.map((type) => CODES[type]).join(""), lengths, sentAt];
  const hasOrigins = origins?.some((origin) => origin !== null) === true;
  const hasAttempts = attempts?.some((count) => count > 0) === true;
  if (hasOrigins || hasAttempts) columns.push(hasOrigins ? origins : null);
  if (hasAttempts) columns.push(attempts);
  return JSON.stringify(columns);
}

export function parseHead(text: string): Head {
  const [ids, types, lengths, sentAt, origins, attempts] = JSON.parse(text) as [
    string[],
    string,
    number[],
    number | number[],
    ((Origin | null)[] | null)?,
    number[]?,
  ];
  const head: Head = { ids, types: Array.from(types, (code) => TYPES.get(code) ?? "json"), lengths, sentAt };
  if (origins != null) head.origins = origins;
  if (attempts !== undefined) head.attempts = attempts;
  return head;
}

/** The messages at these places. Bodies are views into the entry. */
export function* messagesOf({ head, bodies }: Entry, from = 0): Generator<StoredMessage> {
  let at = 0;
  for (let i = 0; i < head.ids.length; i++) {
    const length = head.lengths[i] ?? 0;
    if (i >= from) {
      yield {
        id: head.ids[i] ?? "",
        sentAt: typeof head.sentAt === "number" ? head.sentAt : (head.sentAt[i] ?? 0),
        attempts: head.attempts?.[i] ?? 0,
        type: head.types[i] ?? "json",
        body: bodies.subarray(at, at + length),
        origin: head.origins?.[i] ?? null,
      };
    }
    at += length;
  }
}

/** Gives packed messages ids, and cuts them into entries: those of one delay, in order, as many to a row as it may hold. */
export function entriesOf(
  packed: readonly PackedMessages[],
  sentAt: number,
  defaultDelaySeconds: number,
): { delaySeconds: number; entry: Entry }[] {
  const groups = new Map<number, Builder>();
  const done: { delaySeconds: number; entry: Entry }[] = [];
  for (const { types, lengths, delaySeconds: delays, bodies } of packed) {
    let at = 0;
    for (let i = 0; i < types.length; i++) {
      const delaySeconds = delays[i] ?? defaultDelaySeconds;
      const length = lengths[i] ?? 0;
      let builder = groups.get(delaySeconds);
      if (builder === undefined || !builder.hasRoom(length)) {
        if (builder !== undefined) done.push({ delaySeconds, entry: builder.entry() });
        builder = new Builder();
        groups.set(delaySeconds, builder);
      }
      const body = bodies.subarray(at, at + length);
      builder.add({ id: newId(), sentAt, attempts: 0, type: types[i] ?? "json", body, origin: null });
      at += length;
    }
  }
  for (const [delaySeconds, builder] of groups) done.push({ delaySeconds, entry: builder.entry() });
  return done;
}

/** Messages that exist already, in order, as few rows as can be. */
export function entriesOfMessages(messages: Iterable<StoredMessage>): Entry[] {
  const entries: Entry[] = [];
  let builder = new Builder();
  for (const message of messages) {
    if (!builder.hasRoom(message.body.byteLength)) {
      entries.push(builder.entry());
      builder = new Builder();
    }
    builder.add(message);
  }
  if (builder.count > 0) entries.push(builder.entry());
  return entries;
}

class Builder {
  readonly #messages: StoredMessage[] = [];
  #bytes = 0;

  get count(): number {
    return this.#messages.length;
  }

  hasRoom(bytes: number): boolean {
    if (this.count === 0) return true;
    return this.count < ENTRY_MESSAGES && this.#bytes + bytes <= ENTRY_BYTES;
  }

  add(message: StoredMessage): void {
    this.#messages.push(message);
    this.#bytes += message.body.byteLength;
  }

  entry(): Entry {
    const messages = this.#messages;
    const bodies = new Uint8Array(this.#bytes);
    let at = 0;
    for (const { body } of messages) {
      bodies.set(body, at);
      at += body.byteLength;
    }
    const times = messages.map(({ sentAt }) => sentAt);
    const sentAt = times.reduce((oldest, time) => Math.min(oldest, time), Infinity);
    const head: Head = {
      ids: messages.map(({ id }) => id),
      types: messages.map(({ type }) => type),
      lengths: messages.map(({ body }) => body.byteLength),
      sentAt: times.every((time) => time === sentAt) ? sentAt : times,
      origins: messages.map(({ origin }) => origin),
      attempts: messages.map(({ attempts }) => attempts),
    };
    return { head, bodies, bytes: this.#bytes, sentAt };
  }
}

/** 32 hex digits. */
function newId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}
