export interface WaggleErrorOptions extends ErrorOptions {
  code: string;
  /** Of the HTTP answer; 0 = there was none. */
  status?: number;
  retryAfterSeconds?: number | undefined;
}

/**
 * Every failure of this library, except for an aborted `signal`, whose own reason is thrown. Branch on `code`: it is the
 * broker's (`queue_full`, `no_responders`, `forbidden`, and for durable queues its number as a text), `http_<status>` for
 * an answer that is not the broker's, or one of
 *
 * - `network_error`: there was no answer, or not all of it;
 * - `no_reply`: nobody replied to a request within its timeout;
 * - `responder_failed`: the responder's handler threw; the message is its error's;
 * - `closed`: the client was closed meanwhile.
 *
 * ```ts
 * try {
 *   await waggle.request("squares", { n: 7 });
 * } catch (error) {
 *   if (error instanceof WaggleError && error.code === "no_responders") return null;
 *   throw error;
 * }
 * ```
 */
export class WaggleError extends Error {
  override name = "WaggleError";
  readonly code: string;
  /** Of the HTTP answer; 0 = there was none. */
  readonly status: number;
  /** Seconds after which a repeat may succeed, where the broker knows. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, { code, status = 0, retryAfterSeconds, ...rest }: WaggleErrorOptions) {
    super(message, rest);
    this.code = code;
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What an answer with a failure says: in the envelope of either kind of queue, or in none of them. */
export function errorOf(status: number, text: string, retryAfter: string | null): WaggleError {
  const retryAfterSeconds = retryAfter === null || !/^\d+$/.test(retryAfter) ? undefined : Number(retryAfter);
  try {
    const { error, code, errors } = JSON.parse(text) as {
      error?: string;
      code?: string;
      errors?: { code: number; message: string }[];
    };
    const [first] = errors ?? [];
    if (first !== undefined)
      return new WaggleError(first.message, { code: String(first.code), status, retryAfterSeconds });
    if (error !== undefined && code !== undefined) return new WaggleError(error, { code, status, retryAfterSeconds });
  } catch {
    // Of a proxy, then.
  }
  return new WaggleError(`answered ${status}: ${text.slice(0, 200)}`, {
    code: `http_${status}`,
    status,
    retryAfterSeconds,
  });
}
