import { sleep } from "../client/retry.ts";
import { Transport, type Call, type TokenSource } from "../client/transport.ts";

type Query = Record<string, string | number | boolean | undefined>;

/** The HTTP API, for operations: each call is made once, since whoever asked is there to ask again. */
export class Api {
  readonly #transport: Transport;
  readonly #signal: AbortSignal | undefined;

  /** `fetcher` in the place of the global `fetch`; `signal` ends whatever is under way. */
  constructor(url: string, token?: TokenSource, fetcher?: typeof fetch, signal?: AbortSignal) {
    this.#transport = new Transport(url, token, fetcher);
    this.#signal = signal;
  }

  get<T>(path: string, query: Query = {}, waitMs = 0): Promise<T> {
    return this.#call("GET", path + queryText(query), undefined, waitMs);
  }

  post<T>(path: string, body: unknown = {}, waitMs = 0): Promise<T> {
    return this.#call("POST", path, body, waitMs);
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.#call("PUT", path, body);
  }

  patch<T>(path: string, body: unknown): Promise<T> {
    return this.#call("PATCH", path, body);
  }

  delete<T>(path: string): Promise<T> {
    return this.#call("DELETE", path);
  }

  /** Waits, unless the caller leaves. */
  wait(ms: number): Promise<void> {
    return sleep(ms, this.#signal);
  }

  async #call<T>(method: Call["method"], path: string, body?: unknown, waitMs = 0): Promise<T> {
    const answer = await this.#transport.once<T | { success: boolean; result: T }>({
      method,
      path,
      waitMs,
      isHarmless: false,
      signal: this.#signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return isEnvelope(answer) ? answer.result : answer;
  }
}

/** Routes of durable queues answer in the envelope of Cloudflare's API. */
function isEnvelope<T>(answer: T | { success: boolean; result: T }): answer is { success: boolean; result: T } {
  return typeof answer === "object" && answer !== null && "success" in answer && "result" in answer;
}

function queryText(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])))}`;
}

/** A path below `/api/v1`, with names that may hold anything. */
export function v1(strings: TemplateStringsArray, ...names: string[]): string {
  return `/api/v1/${strings.reduce((text, part, i) => text + encodeURIComponent(names[i - 1] ?? "") + part)}`;
}
