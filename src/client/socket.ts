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

/** One WebSocket of a subscription, from its opening to its end. */
export class Socket<T> {
  readonly #socket: WebSocket;
  #messages: Message<T>[] = [];
  #acks: Settled[] = [];
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
  async next(): Promise<Message<T> | null> {
    for (;;) {
      if (this.#error !== null) throw this.#error;
      // What came before the end goes back to the queue with it: it would be handled twice.
      if (this.#ending !== null || this.#isStopped) return null;
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      this.#flush();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Acks of one turn go together. */
  settle(settled: Settled): void {
    this.#acks.push(settled);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setTimeout(() => this.#flush(), 0);
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#acks.length > 0) this.#send(JSON.stringify({ type: "ack", acks: this.#acks }));
    this.#acks = [];
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

  #send(text: string): void {
    // Of a socket that has ended, everything has gone back.
    if (this.#ending === null && this.#socket.readyState === 1) this.#socket.send(text);
  }

  #receive(text: string): void {
    this.#listen();
    if (text === "pong") return;
    const { type, messages, code, error } = JSON.parse(text) as {
      type: string;
      messages: Message<T>[];
      code: string;
      error: string;
    };
    if (type === "subscribed") this.#wasSubscribed = true;
    if (type === "messages") this.#messages.push(...messages);
    // An ack that another owner could not be asked for is one that did not come: its message is delivered again.
    if (type === "error" && code === "forbidden") this.#error = new WaggleError(error, { code, status: 403 });
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
    this.#messages = [];
    this.#socket.close();
    this.#wake();
  }
}
