/** Every `code` that an answer can carry, with its HTTP status. Clients branch on the code alone. */
export const STATUS = {
  ephemeral_bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  ephemeral_queue_not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  upgrade_required: 426,
  queue_full: 429,
  too_many_groups: 429,
  internal: 500,
  bad_configuration: 500,
  auth_not_configured: 503,
  ephemeral_unavailable: 503,
  no_responders: 503,
  owner_moved: 503,
  ephemeral_forward_failed: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

/** Codes that pass by themselves: a client that is not told when to come back waits far too long. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  "queue_full",
  "ephemeral_unavailable",
  "owner_moved",
  "ephemeral_forward_failed",
]);

/** A refusal as plain data, as objects hand it to each other: a thrown error would be logged as a crash. */
export interface Refusal {
  code: ErrorCode;
  error: string;
}

export function refuse(code: ErrorCode, error: string): Refusal {
  return { code, error };
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === "object" && value !== null && "code" in value && "error" in value;
}

/** The one error class of Waggle. */
export class WaggleError extends Error {
  override name = "WaggleError";
  readonly code: ErrorCode;
  readonly status: number;
  /** Seconds after which a repeat may succeed. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.status = STATUS[code];
    this.retryAfterSeconds = PASSING.has(code) ? 1 : undefined;
  }
}

/** Turns a refusal back into an error. */
export function unwrap<T>(value: T | Refusal): T {
  if (isRefusal(value)) throw new WaggleError(value.code, value.error);
  return value;
}
