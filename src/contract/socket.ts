import * as z from "zod/mini";
import { WaggleError } from "./errors.ts";
import type { JsonScanner } from "./json-scanner.ts";
import { scanned } from "./json-text.ts";
import { parse } from "./parse.ts";
import { readPush, type Push } from "./push-body.ts";
import { ackEntries } from "./requests.ts";

/**
 * What goes over the WebSocket of `GET /api/v1/ephemeral/subscribe?queue=&partition=&group=&prefetch=`. Every frame is a
 * text frame with one JSON object, but for `ping`, which the runtime answers with `pong` without waking anybody.
 *
 * The broker sends messages as they come, as long as fewer than `prefetch` of them (and about 4 MiB) are unsettled; each
 * is leased as by a pop, and its credit comes back with an ack or with the end of its lease. `partition`, `attempts`,
 * outcomes, error codes and defaults mean what they mean over HTTP, and a payload is the exact JSON text that was pushed.
 *
 * A frame that carries a `ref`, a string or a number, is answered with the same `ref`; one without is answered only by an
 * `error`. Frames of one socket are carried out in their order.
 *
 * | from | frame |
 * |---|---|
 * | broker | `{"type":"subscribed","queue","partition","group","prefetch"}`, first of all; null = any partition, queue mode |
 * | broker | `{"type":"messages","batch":N,"messages":[{"id","partition","attempts","payload"}]}`; no number comes twice on a socket |
 * | client | `{"type":"ack","ref"?,"acks":[{"id","status"?,"attempts"?}]}`: `completed`, `retry` or `failed` |
 * | broker | `{"type":"acked","ref","results":[{"id","outcome"}]}` |
 * | client | `{"type":"ack","ref"?,"batch":N}`: completed is what is still out of that batch, which costs both sides least |
 * | broker | `{"type":"acked","ref","acked":N}`, how many messages that were |
 * | client | `{"type":"push","ref"?,"queue"?,"partition"?,"messages":[{"payload"}]}`; the queue is the socket's own if none is named |
 * | broker | `{"type":"pushed","ref","pushed":N}` |
 * | broker | `{"type":"error","ref"?,"code","error"}`: that frame changed nothing; the socket stays |
 *
 * The socket ends with one of {@link CLOSE}, which a last frame `{"type":"end","code","reason"}` says before the close does. What was unsettled then goes back at once and is delivered again, to whoever
 * comes next, with `attempts` one higher; a lost connection never gives a message up.
 */
export const CLOSE = {
  /** The owner has started again, or the partition has another one by now: subscribe again. */
  goingAway: 1012,
  /** More frames wait for other owners than may: subscribe again in a moment. */
  tryAgainLater: 1013,
  /** The client sent what is no frame. */
  badFrame: 4400,
  /** The token has expired. Noticed with the next message or frame: nobody is woken for it. */
  tokenExpired: 4401,
  /** The queue was deleted. */
  queueDeleted: 4404,
  /** The client does not ack what it is sent: more than 16 MiB may lie unread. */
  slowConsumer: 4408,
} as const;

/** Refs come back as they were sent, so that they are small. */
const MAX_REF_CHARS = 128;
/** Nesting of what is parsed: a payload is not. */
const MAX_DEPTH = 64;

const ASCII = /^[\u0000-\u007f]*$/;

/**
 * A small frame of acks, which most are, is parsed without being walked first: even one of nothing but brackets makes no
 * more than a few megabytes of objects.
 */
const MAX_PARSED_CHARS = 32 * 1024;
const BEGINS_AS_ACK = /^\{(?:"ref":(?:"[^"\\]*"|\d{1,15}),)?"type":"ack",/;

const ackFrame = z.compile(
  z.object({
    acks: z.optional(ackEntries),
    batch: z.optional(z.number().check(z.int(), z.positive())),
  }),
);

type Acks = z.infer<typeof ackEntries>;

/** What a client says. `ref` is JSON text. */
export type ClientFrame =
  | { type: "ack"; ref: string | null; acks: Acks }
  | { type: "ack-batch"; ref: string | null; batch: number }
  | { type: "push"; ref: string | null; push: Push };

/** Reads a frame of a client whose socket is subscribed to `queue`. Throws for what is none. */
export function readFrame(text: string, queue: string): ClientFrame {
  const { type, ref, acks, batch } = parsedAck(text) ?? walked(text);
  switch (type) {
    case "ack":
      return readAck(ref, { acks, batch });
    case "push":
      return { type, ref, push: readPush({ text, isAscii: ASCII.test(text) }, queue) };
    default:
      throw bad(`type must be "ack" or "push", not ${JSON.stringify(type)?.slice(0, 60) ?? "absent"}`);
  }
}

function readAck(ref: string | null, sent: Pick<Head, "acks" | "batch">): ClientFrame {
  const { acks, batch } = parse(ackFrame, sent);
  if (acks !== undefined && batch === undefined) return { type: "ack", ref, acks };
  if (batch !== undefined && acks === undefined) return { type: "ack-batch", ref, batch };
  throw bad("an ack names either acks or a batch");
}

/** What is read of a frame before its kind is known. */
interface Head {
  type: unknown;
  /** JSON text. */
  ref: string | null;
  acks: unknown;
  batch: unknown;
}

/** null = the frame has to be walked, which also says what is wrong with it. */
function parsedAck(text: string): Head | null {
  if (text.length > MAX_PARSED_CHARS || !BEGINS_AS_ACK.test(text)) return null;
  let members: Record<string, unknown>;
  try {
    members = JSON.parse(text);
  } catch {
    return null;
  }
  const { type, ref, acks, batch } = members;
  // The first of two keys of a name is none.
  if (type !== "ack" || (ref !== undefined && typeof ref !== "string" && !Number.isSafeInteger(ref))) return null;
  return { type, ref: checkedRef(ref === undefined ? undefined : JSON.stringify(ref)), acks, batch };
}

/** A push is walked alone, and its payloads are never parsed; of an ack, the nesting is bounded. */
function walked(text: string): Head {
  const members: Record<string, string> = {};
  scanned(text, readMembers, members);
  const { type, ref, acks, batch } = members;
  const isText = type !== undefined && type.startsWith('"');
  return { type: isText ? JSON.parse(type) : type, ref: checkedRef(ref), acks: valueOf(acks), batch: valueOf(batch) };
}

function readMembers(scanner: JsonScanner, members: Record<string, string>): void {
  for (let key = scanner.firstKey(); key !== null; key = scanner.nextKey()) {
    if (key === "type" || key === "ref" || key === "acks" || key === "batch") members[key] = scanner.value(MAX_DEPTH);
    else scanner.skip();
  }
}

function valueOf(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function checkedRef(ref: string | undefined): string | null {
  const isRef = ref === undefined || (ref.length <= MAX_REF_CHARS && /^["\d-]/.test(ref));
  if (!isRef) throw bad(`ref must be a string or a number of at most ${MAX_REF_CHARS} characters`);
  return ref ?? null;
}

function bad(problem: string): WaggleError {
  return new WaggleError("ephemeral_bad_request", problem);
}

/** A frame of the broker: `ref` and the values are JSON text already. */
export function frame(type: string, ref: string | null, values: Record<string, string>): string {
  const named = { ...(ref === null ? {} : { ref }), ...values };
  const members = Object.entries(named).map(([key, value]) => `,"${key}":${value}`);
  return `{"type":"${type}"${members.join("")}}`;
}
