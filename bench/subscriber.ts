interface Frame {
  type: string;
  ref?: string;
  batch?: number;
  messages?: { id: string; attempts: number }[];
}

/** Whether a frame's messages are acked as a whole, as the client library does, or each by its id. */
export type Acks = "batch" | "each";

/** The end of a round: the last ack asks for an answer, which comes after all before it have been carried out. */
const REF = "last";

/**
 * A subscriber over Node's own WebSocket that acks each frame with one of its own. It treats what a bare object sends just
 * as it does the broker's.
 */
export class Subscriber {
  readonly #socket: WebSocket;
  readonly #asWhole: boolean;
  #missing = 0;
  #arrived: PromiseWithResolvers<number> = Promise.withResolvers();
  #settled: PromiseWithResolvers<void> = Promise.withResolvers();

  private constructor(socket: WebSocket, acks: Acks) {
    this.#socket = socket;
    this.#asWhole = acks === "batch";
    socket.addEventListener("message", ({ data }) => this.#receive(data as string));
    socket.addEventListener("close", ({ code, reason }) => this.#fail(new Error(`socket closed: ${code} ${reason}`)));
  }

  static async open(port: number, path: string, acks: Acks = "batch"): Promise<Subscriber> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`${path} gave no WebSocket`)));
    });
    return new Subscriber(socket, acks);
  }

  /**
   * Begins to wait for so many messages. `arrived` is the time at which the last of them was there, `settled` is when the
   * acks of all have been carried out.
   */
  expect(count: number): { arrived: Promise<number>; settled: Promise<void> } {
    this.#missing = count;
    this.#arrived = Promise.withResolvers();
    this.#settled = Promise.withResolvers();
    // Whoever waits for one of them only still ends the run when the socket is lost.
    this.#arrived.promise.catch(() => {});
    this.#settled.promise.catch(() => {});
    return { arrived: this.#arrived.promise, settled: this.#settled.promise };
  }

  close(): void {
    this.#socket.close();
  }

  #receive(text: string): void {
    const at = performance.now();
    const { type, ref, batch, messages = [] } = JSON.parse(text) as Frame;
    if (ref === REF) this.#settled.resolve();
    else if (type === "error") this.#fail(new Error(`an ack was answered ${text}`));
    if (type !== "messages") return;
    this.#missing -= messages.length;
    const end = this.#missing === 0 ? { ref: REF } : {};
    this.#socket.send(JSON.stringify({ ...end, type: "ack", ...this.#acksOf(batch, messages) }));
    if (this.#missing === 0) this.#arrived.resolve(at);
  }

  #acksOf(batch: number | undefined, messages: { id: string; attempts: number }[]) {
    if (this.#asWhole) return { batch };
    return { acks: messages.map(({ id, attempts }) => ({ id, attempts, status: "completed" })) };
  }

  #fail(error: Error): void {
    this.#arrived.reject(error);
    this.#settled.reject(error);
  }
}
