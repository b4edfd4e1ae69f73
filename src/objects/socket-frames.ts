import type { Refusal } from "../contract/errors.ts";
import { QUEUE_MODE } from "../contract/limits.ts";
import { frame } from "../contract/socket.ts";
import type { Subscribe } from "./protocol.ts";

/** A batch goes out in frames of about this many characters. */
const FRAME_CHARS = 512 * 1024;

/** The first frame of a subscription. */
export function subscribedFrame({ queue, partition, group, prefetch }: Subscribe): string {
  const mode = group === QUEUE_MODE ? null : group;
  return JSON.stringify({ type: "subscribed", queue, partition, group: mode, prefetch });
}

export function errorFrame(ref: string | null, { code, error }: Refusal): string {
  return frame("error", ref, { code: JSON.stringify(code), error: JSON.stringify(error) });
}

/** The messages of a batch, which are JSON texts, in as many frames as they need. */
export function messageFrames(items: readonly string[]): string[] {
  return framesOf(items).map((inside) => `{"type":"messages","messages":[${inside}]}`);
}

function framesOf(items: readonly string[]): string[] {
  const frames: string[] = [];
  let from = 0;
  let chars = 0;
  items.forEach((item, index) => {
    if (index > from && chars + item.length > FRAME_CHARS) {
      frames.push(items.slice(from, index).join(","));
      from = index;
      chars = 0;
    }
    chars += item.length;
  });
  if (from < items.length) frames.push(items.slice(from).join(","));
  return frames;
}

/** A socket that has closed meanwhile needs no answer. */
export function send(socket: WebSocket, text: string): void {
  try {
    socket.send(text);
  } catch {
    // Its end is on the way.
  }
}

/** A reason has room for 123 bytes. */
export function close(socket: WebSocket, code: number, reason: string): void {
  try {
    socket.close(code, reason.replaceAll(/[^\u0020-\u007e]/g, "?").slice(0, 120));
  } catch {
    // It is closed.
  }
}
