/** How much of an error is kept. */
const MAX_TEXT = 500;

/** What {@link within} answers when the time is over. */
export const LATE = Symbol("late");

/** A promise's value, or {@link LATE} after `ms`; the promise itself goes on, and its failure is then nobody's. */
export async function within<T>(promise: PromiseLike<T>, ms: number): Promise<T | typeof LATE> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>();
  const timer = setTimeout(resolve, ms, LATE);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** An error as the queue's status and a dead letter show it. */
export function failureText(error: unknown): string {
  const text = `${String(error)}${hint(error)}`;
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

/** A handler may have done everything and still fail, by the value that it returns. */
function hint(error: unknown): string {
  if (!(error instanceof Error) || error.name !== "DataCloneError") return "";
  return " (if this is about the value that the handler returns: let it return nothing)";
}
