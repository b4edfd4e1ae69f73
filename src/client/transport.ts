import { errorOf, WaggleError } from "./error.ts";
import { delayBefore, mayRepeat, sleep } from "./retry.ts";

/** How long a call may take beyond what it was asked to wait. */
const PATIENCE_MS = 10_000;
/** How long a call is tried again: well within the 60 s for which the broker remembers the key of a push. */
const RETRY_MS = 30_000;

/** A bearer token, or where to get one: asked before every call, so that it can be renewed. */
export type TokenSource = string | (() => string | Promise<string>);

export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** A function is asked anew for each try. */
  path: string | (() => string);
  /** JSON. */
  body?: string;
  /** How long the broker may wait before it answers. */
  waitMs?: number;
  /** Whether the call may be made again when nobody knows whether it has been carried out. */
  isHarmless: boolean;
  signal?: AbortSignal | undefined;
}

/** Makes calls over HTTP. */
export class Transport {
  readonly #url: string;
  readonly #token: TokenSource | undefined;
  readonly #fetch: typeof fetch;

  constructor(url: string | URL, token: TokenSource | undefined, fetcher: typeof fetch | undefined) {
    this.#url = String(url).replace(/\/+$/, "");
    this.#token = token;
    // The global one must not be called as a method of anything else.
    this.#fetch = fetcher ?? ((input, init) => fetch(input, init));
  }

  /** Makes a call, and makes it again where that is harmless. */
  async call<T>(call: Call): Promise<T> {
    const until = Date.now() + RETRY_MS;
    for (let tries = 1; ; tries++) {
      try {
        return await this.once<T>(call);
      } catch (error) {
        const delayMs = delayBefore(tries, error);
        if (!mayRepeat(error, call.isHarmless) || Date.now() + delayMs > until) throw error;
        await sleep(delayMs, call.signal);
      }
    }
  }

  /** Makes a call a single time. */
  async once<T>({ method, path, body, waitMs = 0, signal }: Call): Promise<T> {
    signal?.throwIfAborted();
    const headers = await this.#headers();
    // A signal that is there for good must not collect what waits for it: the listener goes with the call.
    const controller = new AbortController();
    const leave = () => controller.abort(signal?.reason);
    const timer = setTimeout(() => controller.abort(), waitMs + PATIENCE_MS);
    signal?.addEventListener("abort", leave);
    try {
      // No content type: the broker reads JSON anyway, and a browser then asks no leave before a call without a token.
      const init: RequestInit = { method, headers, signal: controller.signal };
      if (body !== undefined) init.body = body;
      const response = await this.#fetch(this.#url + (typeof path === "string" ? path : path()), init);
      const text = await response.text();
      if (!response.ok) throw errorOf(response.status, text, response.headers.get("retry-after"));
      return JSON.parse(text) as T;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof WaggleError) throw error;
      const reason = controller.signal.aborted ? "no answer in time" : String(error);
      throw new WaggleError(`${method} ${this.#url}: ${reason}`, { code: "network_error", cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Where to open a WebSocket. It can send no token: a ticket, which is good once, stands for that. */
  async socketUrl(path: string, signal: AbortSignal | undefined): Promise<string> {
    const url = this.#url.replace(/^http/, "ws") + path;
    if (this.#token === undefined) return url;
    const call = { method: "POST" as const, path: "/api/v1/tickets", isHarmless: true, signal };
    const { ticket } = await this.once<{ ticket: string }>(call);
    return `${url}&ticket=${encodeURIComponent(ticket)}`;
  }

  async #headers(): Promise<Record<string, string>> {
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }
}
