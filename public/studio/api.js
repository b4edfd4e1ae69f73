import { parseExactly } from "./json.js";

const KEY = "waggle-token";

/** A call that the broker refused, in its own words. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(status, message, options) {
    super(message, options);
    this.name = "ApiError";
    this.status = status;
  }

  /** Whether another token may help. */
  get isRefused() {
    return this.status === 401 || this.status === 403;
  }
}

/** The token of this tab. It ends with the tab, and is in no URL. */
export const token = {
  /** @returns {string | null} */
  get() {
    return sessionStorage.getItem(KEY);
  },
  /** @param {string} value */
  set(value) {
    sessionStorage.setItem(KEY, value);
  },
  forget() {
    sessionStorage.removeItem(KEY);
  },
};

/**
 * A path whose parts are written as they must be.
 *
 * @param {TemplateStringsArray} texts
 * @param {...string} parts
 */
export function path(texts, ...parts) {
  return String.raw({ raw: texts }, ...parts.map(encodeURIComponent));
}

/**
 * Calls the broker that served this page.
 *
 * @template T
 * @param {"GET" | "POST" | "PATCH" | "DELETE"} method
 * @param {string} at
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function call(method, at, body, signal) {
  const text = await textOf(method, at, body, signal);
  const answer = parseExactly(text);
  // A long wait has its head out before it can fail.
  const refused = answer.error ?? answer.errors?.[0]?.message;
  if (refused !== undefined) throw new ApiError(500, refused);
  return "result" in answer ? answer.result : answer;
}

/**
 * @param {string} method
 * @param {string} at
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 */
export async function textOf(method, at, body, signal) {
  const known = token.get();
  const response = await reached(at, {
    method,
    headers: { "content-type": "application/json", ...(known === null ? {} : { authorization: `Bearer ${known}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  if (!response.ok) throw new ApiError(response.status, problemIn(text) ?? `the broker answered ${response.status}`);
  return text;
}

/**
 * @param {string} at
 * @param {RequestInit} init
 */
async function reached(at, init) {
  try {
    return await fetch(at, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "The broker cannot be reached.", { cause: error });
  }
}

/** @param {string} text */
function problemIn(text) {
  try {
    const { error, errors } = JSON.parse(text);
    return /** @type {string | undefined} */ (error ?? errors?.[0]?.message);
  } catch {
    return undefined;
  }
}
