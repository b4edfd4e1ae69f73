/**
 * Every code that a durable queue refuses with, and the status of its answer over HTTP. Most are Cloudflare's own; those
 * from 10400 on are Waggle's, for what the original has no documented code for.
 */
export const QUEUE_STATUS = {
  /** No such queue. */
  10104: 404,
  /** The caller may not do this; with status 401 when nobody knows who calls. */
  10106: 403,
  /** Neither an id nor a name. */
  10107: 400,
  /** A batch's delay is no whole number from 0 to 86,400. */
  10202: 400,
  /** A message's content type or delay. */
  10203: 400,
  10204: 413,
  10205: 413,
  10206: 400,
  /** A request's body is not JSON. */
  10207: 400,
  /** A message's body does not fit its content type. */
  10208: 400,
  /** Too much at once; passes by itself. */
  10250: 429,
  /** The partition is full. */
  10251: 429,
  /** Delivery is paused, and with it pulling. */
  10252: 409,
  /** The queue has more partitions than one request may ask under the account's plan. */
  10253: 429,
  /** A consumer of this name is there, with other settings. */
  11004: 409,
  /** The queue's name is taken. */
  11009: 409,
  /** A field or setting is unknown or out of range. */
  10400: 400,
  /** No such consumer, bridge or route. */
  10404: 404,
  /** The method does not exist on this path. */
  10405: 405,
  /** Something else holds what is asked for. */
  10409: 409,
  /** An error of the broker itself. */
  15000: 500,
  /** The object that holds the queue could not be asked; passes by itself. */
  15001: 503,
} as const;

export type QueueErrorCode = keyof typeof QUEUE_STATUS;

const RETRYABLE: ReadonlySet<QueueErrorCode> = new Set<QueueErrorCode>([10250, 10251, 10252, 15001]);

/** A refusal as plain data, as objects hand it to each other: a thrown error would be logged as a crash. */
export interface QueueRefusal {
  refused: QueueErrorCode;
  text: string;
}

export function refuseQueue(refused: QueueErrorCode, text: string): QueueRefusal {
  return { refused, text };
}

export function isQueueRefusal(value: unknown): value is QueueRefusal {
  return typeof value === "object" && value !== null && "refused" in value;
}

/**
 * What a durable queue refuses with. The message ends in ` (code)`, as it does in the original, and its own properties
 * survive the way to a caller in another Worker.
 */
export class QueueError extends Error {
  override name = "QueueError";
  readonly code: QueueErrorCode;
  readonly status: number;
  /** The text without the code. */
  override readonly cause: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(code: QueueErrorCode, text: string) {
    super(`${text} (${code})`);
    this.code = code;
    this.cause = text;
    this.status = QUEUE_STATUS[code];
    this.retryable = RETRYABLE.has(code);
  }
}

/** Turns a refusal back into an error. */
export function unwrapQueue<T>(value: T | QueueRefusal): T {
  if (isQueueRefusal(value)) throw new QueueError(value.refused, value.text);
  return value;
}
