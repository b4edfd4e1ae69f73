import * as z from "zod/mini";
import { WaggleError } from "./errors.ts";
import { JsonScanner } from "./json-scanner.ts";
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
 * | broker | `{"type":"messages","messages":[{"id","partition","attempts","payload"}]}` |
 * | client | `{"type":"ack","ref"?,"acks":[{"id","status"?,"attempts"?}]}`: `completed`, `retry` or `failed` |
 * | broker | `{"type":"acked","ref","results":[{"id","outcome"}]}` |
 * | client | `{"type":"push","ref"?,"queue"?,"partition"?,"messages":[{"payload"}]}`; the queue is the socket's own if none is named |
 * | broker | `{"type":"pushed","ref","pushed":N}` |
 * | broker | `{"type":"error","ref"?,"code","error"}`: that frame changed nothing; the socket stays |
 *
 * The socket ends with one of {@link CLOSE}. What was unsettled then goes back at once and is delivered again, to whoever
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

const ackFrame = z.compile(z.object({ acks: ackEntries }));

/** What a client says. `ref` is JSON text. */
export type ClientFrame =
  | ({ type: "ack"; ref: string | null } & Pick<z.infer<typeof ackFrame>, "acks">)
  | { type: "push"; ref: string | null; push: Push };

/** Reads a frame of a client whose socket is subscribed to `queue`. Throws for what is none. */
export function readFrame(text: string, queue: string): ClientFrame {
  const { type, ref, acks } = headOf(text);
  switch (type) {
    case "ack":
      return { type, ref, acks: parse(ackFrame, { acks: acks === undefined ? undefined : JSON.parse(acks) }).acks };
    case "push":
      return { type, ref, push: readPush({ text, isAscii: ASCII.test(text) }, queue) };
    default:
      throw bad(`type must be "ack" or "push", not ${JSON.stringify(type)?.slice(0, 60) ?? "absent"}`);
  }
}

/** `acks` is JSON text whose nesting is bounded. */
function headOf(text: string): { type: unknown; ref: string | null; acks: string | undefined } {
  const head: Record<string, string> = {};
  scanned(() => {
    const scanner = new JsonScanner(text);
    scanner.object((key) => {
      if (key === "type" || key === "ref" || key === "acks") head[key] = scanner.value(MAX_DEPTH);
      else scanner.skip();
    });
    scanner.end();
  });
  const { type, ref, acks } = head;
  const isRef = ref === undefined || (ref.length <= MAX_REF_CHARS && /^["\d-]/.test(ref));
  if (!isRef) throw bad(`ref must be a string or a number of at most ${MAX_REF_CHARS} characters`);
  const isText = type !== undefined && type.startsWith('"');
  return { type: isText ? JSON.parse(type) : type, ref: ref ?? null, acks };
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
