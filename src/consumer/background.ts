import { failureText } from "../delivery/ending.ts";

/** What a handler has started with `ctx.waitUntil`. */
export class Background {
  readonly #promises: Promise<unknown>[] = [];

  /** The context, with a `waitUntil` that is seen. */
  watch(ctx: ExecutionContext): ExecutionContext {
    const waitUntil = (promise: Promise<unknown>) => {
      // The runtime logs what rejects.
      ctx.waitUntil(promise);
      this.#promises.push(promise);
    };
    return new Proxy(ctx, {
      get(target, key) {
        if (key === "waitUntil") return waitUntil;
        const value: unknown = Reflect.get(target, key, target);
        // A method of the runtime refuses any other `this`, a proxy of its own object included.
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  /** Resolves when all has settled, what was started meanwhile included: with why the first one failed, or null. */
  async failure(): Promise<string | null> {
    let failure: string | null = null;
    for (let seen = 0; seen < this.#promises.length;) {
      const started = this.#promises.slice(seen);
      seen += started.length;
      for (const result of await Promise.allSettled(started)) {
        if (result.status === "rejected") failure ??= `in waitUntil: ${failureText(result.reason)}`;
      }
    }
    return failure;
  }
}
