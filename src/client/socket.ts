import { WaggleError } from "./error.ts";
import type { Message, Settled } from "./types.ts";

/** After so long without a sign of life the broker is asked for one, and after as long again given up. */
const SILENCE_MS = 30_000;
/** How long a connection may take to stand. */
const OPEN_MS = 10_000;

/** Why a socket ended: the broker's code, or 1006 for a connection that was lost. */
export interface Ending {
  code: number;
  reason: string;
  /** Whether messages could have come before. */
  wasSubscribed: boolean;
}

/** What the broker says, as far as it matters here. */
type Frame<T> =
  | { type: "subscribed" | "acked" }
  | { type: "messages"; batch: number; messages: Message<T>[] }
  | { type: "error"; code: string; error: string }
  | { type: "end"; code: number; reason: string };

/** Messages that came together: once all are done with, they are acked as a whole. */
interface Batch {
  number: number;
  /** How many of them have not been settled. */
  left: number;
}

/** A message as it waits to be handed out. */
export interface Received<T> {
  message: Message<T>;
  batch: Batch;
}

/** One WebSocket of a subscription, from its opening to its end. */
export class Socket<T> {
  readonly #socket: WebSocket;
  #received: Received<T>[] = [];
  /** What has been settled since the last flush, by batch. */
  #acks = new Map<Batch, Settled[]>();
  #isFlushing = false;
  #wasSubscribed = false;
  #ending: Ending | null = null;
  #error: WaggleError | null = null;
  #isStopped = false;
  /** Called when there is something new. */
  #wake: () => void = () => {};
  #watch: ReturnType<typeof setTimeout>;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#watch = setTimeout(() => this.#end(1006, "the connection does not stand in time"), OPEN_MS);
    socket.addEventListener("message", ({ data }) => this.#receive(String(data)));
    socket.addEventListener("close", ({ code, reason }) => this.#end(code, reason));
    // What is wrong, a browser does not say; the close that follows ends it.
    socket.addEventListener("error", () => this.#end(1006, "the connection failed"));
  }

  /** How it ended; null = it has not. */
  get ending(): Ending | null {
    return this.#ending;
  }

  /** The next message; null = the socket has ended, or has been closed. Throws what the broker refused an ack with. */
  async next(): Promise<Received<T> | null> {
    for (;;) {
      if (this.#error !== null) throw this.#error;
      // What came before the end goes back to the queue with it: it would be handled twice.
      if (this.#ending !== null || this.#isStopped) return null;
      const received = this.#received.shift();
      if (received !== undefined) return received;
      this.#flush();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Acks of one turn go together. */
  settle({ message: { id, attempts }, batch }: Received<T>, status: "completed" | "retry"): void {
    const acks = this.#acks.get(batch) ?? [];
    acks.push({ id, attempts, status });
    this.#acks.set(batch, acks);
    batch.left--;
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setTimeout(() => this.#flush(), 0);
  }

  #flush(): void {
    this.#isFlushing = false;
    const single: Settled[] = [];
    const whole: Batch[] = [];
    for (const [batch, acks] of this.#acks) {
      if (batch.left === 0) whole.push(batch);
      single.push(...(batch.left === 0 ? acks.filter(({ status }) => status !== "completed") : acks));
    }
    // First what is not completed: of a batch, the rest is.
    if (single.length > 0) this.#send({ type: "ack", acks: single });
    for (const { number } of whole) this.#send({ type: "ack", batch: number });
    this.#acks.clear();
  }

  /** Hands out nothing more; what is in hand can still be settled. */
  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  close(): void {
    this.#flush();
    this.#end(1000, "");
  }

  #send(frame: object | "ping"): void {
    // Of a socket that has ended, everything has gone back.
    if (this.#ending !== null || this.#socket.readyState !== 1) return;
    this.#socket.send(frame === "ping" ? frame : JSON.stringify(frame));
  }

  #receive(text: string): void {
    this.#listen();
    if (text === "pong") return;
    const frame = JSON.parse(text) as Frame<T>;
    switch (frame.type) {
      case "subscribed":
        this.#wasSubscribed = true;
        break;
      case "messages": {
        const batch: Batch = { number: frame.batch, left: frame.messages.length };
        for (const message of frame.messages) this.#received.push({ message, batch });
        break;
      }
      case "error":
        // An ack that another owner could not be asked for is one that did not come: its message is delivered again.
        if (frame.code === "forbidden") this.#error = new WaggleError(frame.error, { code: frame.code, status: 403 });
        break;
      case "end":
        // The close itself may take its time.
        this.#end(frame.code, frame.reason);
        return;
    }
    this.#wake();
  }

  /** A lost connection may look like one on which nothing happens. */
  #listen(): void {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => {
      this.#send("ping");
      this.#watch = setTimeout(() => this.#end(1006, "the broker does not answer"), SILENCE_MS);
    }, SILENCE_MS);
  }

  #end(code: number, reason: string): void {
    if (this.#ending !== null) return;
    clearTimeout(this.#watch);
    this.#ending = { code, reason, wasSubscribed: this.#wasSubscribed };
    this.#received = [];
    this.#socket.close();
    this.#wake();
  }
}
