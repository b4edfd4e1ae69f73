import { STATUS, WaggleError, type ErrorCode } from "../contract/errors.ts";

const JSON_HEADERS = { "content-type": "application/json" };

export function json(body: unknown, status = 200): Response {
  return rawJson(JSON.stringify(body), status);
}

export function rawJson(body: string | Uint8Array<ArrayBuffer>, status = 200): Response {
  return new Response(body, { status, headers: JSON_HEADERS });
}

/** Every failure, whatever its cause, in the one envelope `{error, code}`. */
export function failure(code: ErrorCode, error: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ error, code }), {
    status: STATUS[code],
    headers: { ...JSON_HEADERS, ...headers },
  });
}

export function failureOf(error: unknown, headers: Record<string, string> = {}): Response {
  if (error instanceof WaggleError) {
    const { code, message, retryAfterSeconds } = error;
    return failure(code, message, { ...headers, ...retryAfter(retryAfterSeconds) });
  }
  console.error(error);
  return failure("internal", "an error of the broker itself; its log says more");
}

export function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { "retry-after": String(seconds) };
}
