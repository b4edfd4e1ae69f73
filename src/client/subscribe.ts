import { WaggleError } from "./error.ts";
import { delayBefore, isPassing, sleep } from "./retry.ts";
import { Socket, type Ending, type Received } from "./socket.ts";
import type { Transport } from "./transport.ts";
import type { Abortable, Message } from "./types.ts";

const PATH = "/api/v1/ephemeral/subscribe";

/** Ends that another try would only repeat. */
const FINAL: Record<number, string> = {
  4400: "ephemeral_bad_request",
  4404: "queue_deleted",
};

export interface SubscribeOptions extends Abortable {
  /** Absent = any partition. */
  partition?: string;
  /** Subscribers and consumers that share a group share the messages; absent = queue mode. */
  group?: string;
  /** How many messages may be on their way or unsettled; the broker's default when absent. */
  prefetch?: number;
}

/** A message of a subscription. One that is not settled otherwise is acked when the loop asks for the next. */
export interface SubscribedMessage<T = unknown> extends Message<T> {
  ack(): void;
  /** Hands the message back, to be delivered again. */
  retry(): void;
}

export type SocketClass = new (url: string) => WebSocket;

/** Messages as they come, over one socket after the other, until `signal` is aborted. */
export async function* subscribe<T>(
  transport: Transport,
  SocketOf: SocketClass | undefined,
  queue: string,
  { signal, ...options }: SubscribeOptions,
): AsyncGenerator<SubscribedMessage<T>, void, undefined> {
  if (SocketOf === undefined) {
    throw new WaggleError("there is no WebSocket here: pass one as `webSocket`", { code: "unsupported" });
  }
  const query = new URLSearchParams({ queue });
  for (const [name, value] of Object.entries(options)) if (value !== undefined) query.set(name, String(value));
  const path = `${PATH}?${query}`;
  for (let failures = 0; ;) {
    if (signal?.aborted) return;
    let socket: Socket<T>;
    try {
      socket = new Socket<T>(new SocketOf(await transport.socketUrl(path, signal)));
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassing(error)) throw error;
      failures = await wait(failures, error, signal);
      continue;
    }
    const leave = () => socket.stop();
    signal?.addEventListener("abort", leave);
    try {
      if (signal?.aborted) leave();
      for (let received = await socket.next(); received !== null; received = await socket.next()) {
        failures = 0;
        yield* handed(socket, received);
      }
    } finally {
      signal?.removeEventListener("abort", leave);
      socket.close();
    }
    if (socket.ending === null || signal?.aborted) return;
    await mustPass(transport, path, socket.ending, signal);
    failures = await wait(failures, null, signal);
  }
}

/** Hands out one message and settles it, unless the loop is left with it: then it goes back with the socket. */
function* handed<T>(socket: Socket<T>, received: Received<T>): Generator<SubscribedMessage<T>, void, undefined> {
  let isSettled = false;
  const settle = (status: "completed" | "retry") => {
    if (!isSettled) socket.settle(received, status);
    isSettled = true;
  };
  yield { ...received.message, ack: () => settle("completed"), retry: () => settle("retry") };
  settle("completed");
}

async function wait(failures: number, error: unknown, signal: AbortSignal | undefined): Promise<number> {
  // What ends the waiting is seen by the loop.
  await sleep(delayBefore(failures + 1, error), signal).catch(() => {});
  return failures + 1;
}

/** Throws where another try would fail just the same. */
async function mustPass(
  transport: Transport,
  path: string,
  { code, reason, wasSubscribed }: Ending,
  signal: AbortSignal | undefined,
): Promise<void> {
  const final = FINAL[code];
  if (final !== undefined) throw new WaggleError(reason, { code: final });
  if (wasSubscribed) return;
  // A socket that was refused does not say why. A plain request is refused for the same reason, or for being no socket.
  const asked = transport.once({ method: "GET", path, isHarmless: true, signal });
  await asked.catch((error: unknown) => {
    const isGood = isPassing(error) || (error instanceof WaggleError && error.code === "upgrade_required");
    if (!isGood && !signal?.aborted) throw error;
  });
}
