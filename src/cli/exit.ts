import { WaggleError } from "../client/error.ts";
import { InputError } from "../operations/operation.ts";

/** Exit codes, which scripts branch on. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notFound: 3, conflict: 4, unreachable: 5 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What went wrong, and what to do about it. */
export interface Failure {
  exit: ExitCode;
  code: string;
  message: string;
  /** null = there is nothing that would help for certain. */
  fix: string | null;
}

/** What was typed makes no sense. */
export class UsageError extends InputError {
  override name = "UsageError";
}

export function failureOf(error: unknown, url: string): Failure {
  if (error instanceof InputError) {
    return { exit: EXIT.usage, code: "usage", message: error.message, fix: "see --help" };
  }
  if (error instanceof WaggleError)
    return { exit: exitOf(error), code: error.code, message: messageOf(error), fix: fixOf(error, url) };
  const message = error instanceof Error ? error.message : String(error);
  return { exit: EXIT.failed, code: "failed", message, fix: null };
}

/** Node says why it could not connect in the cause of a cause. */
function messageOf({ message, cause }: Error): string {
  const reason = cause instanceof Error ? cause.cause : undefined;
  return reason instanceof Error && reason.message !== "" ? `${message}: ${reason.message}` : message;
}

function exitOf({ code, status }: WaggleError): ExitCode {
  if (code === "network_error") return EXIT.unreachable;
  if (status === 404) return EXIT.notFound;
  if (status === 409) return EXIT.conflict;
  if (code === "ephemeral_bad_request" || code === "10400") return EXIT.usage;
  return EXIT.failed;
}

function fixOf({ code, status, retryAfterSeconds }: WaggleError, url: string): string | null {
  if (code === "network_error") return `is a broker running at ${url}? Name another with --url or WAGGLE_URL`;
  if (status === 401) return "give a token with --token or WAGGLE_TOKEN; waggle token mint makes one";
  if (status === 403) return "this takes a token with the right that is named, or an admin token";
  if (status === 404) return "waggle queue ls and waggle ephemeral ls show what there is";
  if (code.startsWith("http_")) return `is ${url} a Waggle broker, and not a page or a proxy?`;
  if (retryAfterSeconds !== undefined) return `try again in ${retryAfterSeconds} s`;
  return null;
}
