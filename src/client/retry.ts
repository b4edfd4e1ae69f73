import { WaggleError } from "./error.ts";

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 2000;

/** Refusals that pass by themselves and of which it is certain that nothing has been done. */
const NOTHING_DONE = new Set(["owner_moved", "ephemeral_unavailable"]);
/** Those of which it is not. */
const UNCERTAIN = new Set(["network_error", "ephemeral_forward_failed", "internal", "15000", "15001"]);

/** Whether a failure is likely to pass: the network, a broker that restarts, a proxy that does not reach it. */
export function isPassing(error: unknown): error is WaggleError {
  if (!(error instanceof WaggleError)) return false;
  const { code, status } = error;
  if (NOTHING_DONE.has(code) || UNCERTAIN.has(code)) return true;
  return code === `http_${status}` && (status >= 500 || status === 408 || status === 429);
}

/** Whether a call may be made again: always, when the first has certainly done nothing, else when a repeat is harmless. */
export function mayRepeat(error: unknown, isHarmless: boolean): error is WaggleError {
  return isPassing(error) && (isHarmless || NOTHING_DONE.has(error.code));
}

/** How long to wait before the next try, with jitter, so that clients that failed together do not come back together. */
export function delayBefore(tries: number, error: unknown): number {
  const backoff = Math.min(FIRST_DELAY_MS * 2 ** Math.min(tries - 1, 10), MAX_DELAY_MS);
  const told = error instanceof WaggleError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  return Math.max(backoff * (0.5 + Math.random() / 2), told * (1 + Math.random() / 4));
}

/** Waits; rejects with the reason of `signal` once that is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end);
  });
}
