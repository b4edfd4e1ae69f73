import type { Refusal } from "../contract/errors.ts";
import { QUEUE_MODE } from "../contract/limits.ts";
import { frame } from "../contract/socket.ts";
import type { Subscribe } from "./protocol.ts";

/** The first frame of a subscription. */
export function subscribedFrame({ queue, partition, group, prefetch }: Subscribe): string {
  const mode = group === QUEUE_MODE ? null : group;
  return JSON.stringify({ type: "subscribed", queue, partition, group: mode, prefetch });
}

export function errorFrame(ref: string | null, { code, error }: Refusal): string {
  return frame("error", ref, { code: JSON.stringify(code), error: JSON.stringify(error) });
}

/** The messages of a batch, which are JSON texts and at least one. They are joined once: a frame may be large. */
export function messagesFrame(number: number, items: readonly string[]): string {
  const texts = [...items];
  const last = texts.length - 1;
  texts[0] = `{"type":"messages","batch":${number},"messages":[${texts[0]}`;
  texts[last] += "]}";
  return texts.join(",");
}

/** A socket that has closed meanwhile needs no answer. */
export function send(socket: WebSocket, text: string): void {
  try {
    socket.send(text);
  } catch {
    // Its end is on the way.
  }
}

/** The broker ends a socket. It says so in a last frame, too: a close may come late, or be lost on the way. */
export function end(socket: WebSocket, code: number, reason: string): void {
  send(socket, JSON.stringify({ type: "end", code, reason }));
  close(socket, code, reason);
}

/** A reason has room for 123 bytes. */
export function close(socket: WebSocket, code: number, reason: string): void {
  try {
    socket.close(code, reason.replaceAll(/[^\u0020-\u007e]/g, "?").slice(0, 120));
  } catch {
    // It is closed.
  }
}
