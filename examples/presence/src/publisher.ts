/** Publishes the latest state and no older one: while one is on its way, what changes meanwhile goes together. */
export class Publisher {
  readonly #send: () => Promise<unknown>;
  readonly #everyMs: number;
  #isSending = false;
  #isDue = false;

  /** `send` sends whatever the state is by then, at most once in `everyMs`. */
  constructor(send: () => Promise<unknown>, everyMs: number) {
    this.#send = send;
    this.#everyMs = everyMs;
  }

  /** The state has changed. */
  publish(): void {
    this.#isDue = true;
    if (!this.#isSending) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isSending = true;
    while (this.#isDue) {
      this.#isDue = false;
      // What does not get through is followed by the next state.
      await Promise.all([this.#send().catch(() => {}), new Promise((resolve) => setTimeout(resolve, this.#everyMs))]);
    }
    this.#isSending = false;
  }
}
