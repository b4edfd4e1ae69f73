/**
 * What the runtime says when a call did not reach its handler, as far as that is known. The list is closed: whatever is not
 * on it costs the messages an attempt, or a batch that breaks its consumer would come back for ever. Measured, since the
 * platform gives these errors no code.
 */
const UNREACHABLE: readonly RegExp[] = [
  // `wrangler dev`: no such Worker runs.
  /^Worker ".*" not found\. Make sure it is running locally\.$/,
  // The Worker has no such handler.
  /^The RPC receiver does not implement the method "queue"\.$/,
  // A handler named `queue` cannot be called in another `wrangler dev` process.
  /^Illegal invocation: function called with incorrect `this` reference\./,
];

/** Whether a call has failed before anybody was asked. */
export function isUnreachable(error: unknown): boolean {
  const text = error instanceof Error ? error.message : String(error);
  return UNREACHABLE.some((pattern) => pattern.test(text));
}

/** Whether the other side has no method of this name. */
export function lacksMethod(error: unknown, method: string): boolean {
  return error instanceof Error && error.message === `The RPC receiver does not implement the method "${method}".`;
}
