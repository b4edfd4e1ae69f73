import { WaggleError, type Waggle } from "waggle-mq";

export type Transport = "websocket" | "long-poll";

export interface Listening {
  queue: string;
  partition: string;
  group: string;
  /** The only one to use; null = a WebSocket, and a long poll where none gets through. */
  transport: Transport | null;
  signal: AbortSignal;
  /** Called with every payload. */
  heard(payload: unknown): void;
  /** Called when a transport is tried. */
  tries(transport: Transport): void;
}

/** A window hears itself. One that hears nothing for so long, while it speaks, has a WebSocket that does not get through. */
const SILENCE_MS = 8000;

/** Hears everything that is said in a room, until `signal` is aborted. */
export async function listen(waggle: Waggle, listening: Listening): Promise<void> {
  if (listening.transport !== "long-poll" && (await overSocket(waggle, listening))) return;
  if (!listening.signal.aborted) await overLongPoll(waggle, listening);
}

/** Answers false when a WebSocket does not get through and another transport may be tried. */
async function overSocket(waggle: Waggle, listening: Listening): Promise<boolean> {
  const { queue, partition, group, transport, signal, heard, tries } = listening;
  tries("websocket");
  const silence = new AbortController();
  const ends = AbortSignal.any([signal, silence.signal]);
  let hasHeard = false;
  // Offline nothing gets through, which says nothing of the WebSocket.
  const watch = setInterval(() => {
    if (!hasHeard && transport === null && navigator.onLine) silence.abort();
  }, SILENCE_MS);
  try {
    for await (const { payload } of waggle.subscribe(queue, { partition, group, prefetch: 100, signal: ends })) {
      hasHeard = true;
      heard(payload);
    }
    return signal.aborted;
  } catch (error) {
    const hasNone = error instanceof WaggleError && error.code === "unsupported";
    if (hasNone && transport === null) return false;
    throw error;
  } finally {
    clearInterval(watch);
  }
}

async function overLongPoll(waggle: Waggle, { queue, partition, group, signal, heard, tries }: Listening) {
  tries("long-poll");
  await waggle.consume(queue, { partition, group, batch: 100, signal }, ({ payload }) => heard(payload));
}
