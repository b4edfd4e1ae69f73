import { WaggleError, type ErrorCode } from "../../contract/errors.ts";
import { QueueError, type QueueErrorCode } from "../../contract/queue-errors.ts";
import { retryAfter } from "../answers.ts";

/** Failures that are not of durable queues alone, in their codes. */
const CODES: Record<ErrorCode, QueueErrorCode> = {
  ephemeral_bad_request: 10400,
  unauthorized: 10106,
  forbidden: 10106,
  not_found: 10404,
  ephemeral_queue_not_found: 10104,
  method_not_allowed: 10405,
  payload_too_large: 10205,
  upgrade_required: 10400,
  queue_full: 10251,
  too_many_groups: 10250,
  internal: 15000,
  bad_configuration: 15000,
  auth_not_configured: 10106,
  ephemeral_unavailable: 15001,
  no_responders: 15001,
  owner_moved: 15001,
  ephemeral_forward_failed: 15001,
};

/** Which part of a list an answer holds. */
export interface ResultInfo {
  page: number;
  per_page: number;
  count: number;
  total_count: number;
}

/** The envelope of Cloudflare's API. */
export function success(result: unknown, info?: ResultInfo): Response {
  return answer(200, successText(result, info));
}

export function successText(result: unknown, result_info?: ResultInfo): string {
  return JSON.stringify({ success: true, errors: [], messages: [], result, result_info });
}

/** A list that is complete. */
export function successList(items: unknown[]): Response {
  const count = items.length;
  return success(items, { page: 1, per_page: Math.max(1, count), count, total_count: count });
}

export function queueFailure(error: unknown, headers: Record<string, string> = {}): Response {
  const { status, code, message, seconds } = failureParts(error);
  return answer(status, failureText(code, message), { ...headers, ...retryAfter(seconds) });
}

/** The body of a failure alone, for an answer whose head is out already. */
export function queueFailureText(error: unknown): string {
  const { code, message } = failureParts(error);
  return failureText(code, message);
}

function failureText(code: QueueErrorCode, message: string): string {
  return JSON.stringify({ success: false, errors: [{ code, message }], messages: [], result: null });
}

function failureParts(error: unknown): { status: number; code: QueueErrorCode; message: string; seconds?: number } {
  if (error instanceof QueueError) {
    const { status, code, cause, retryable } = error;
    return retryable ? { status, code, message: cause, seconds: 1 } : { status, code, message: cause };
  }
  if (error instanceof WaggleError) return { status: error.status, code: CODES[error.code], message: error.message };
  console.error(error);
  return { status: 500, code: 15000, message: "an error of the broker itself; its log says more" };
}

function answer(status: number, body: string, headers: Record<string, string> = {}): Response {
  return new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
}
