import { WaggleError } from "./errors.ts";
import { JsonScanner, JsonSyntaxProblem } from "./json-scanner.ts";

/** Text that came over the wire. */
export interface BodyText {
  text: string;
  /** Whether every character is ASCII, so that lengths in characters are lengths in bytes. */
  isAscii: boolean;
}

export function parseText(text: string, maxDepth: number): unknown {
  // Walked first: parsing would build an object for each level of a hostile nesting.
  scanned(text, skipped, maxDepth);
  return JSON.parse(text);
}

function skipped(scanner: JsonScanner, maxDepth: number): void {
  scanner.skip(maxDepth);
}

/** Walks over a whole body; text that is not JSON is a 400 that says where. `walk` is handed `arg`, so that it need be no closure. */
export function scanned<T, Arg>(text: string, walk: (scanner: JsonScanner, arg: Arg) => T, arg: Arg): T {
  try {
    const scanner = new JsonScanner(text);
    const result = walk(scanner, arg);
    scanner.end();
    return result;
  } catch (error) {
    if (!(error instanceof JsonSyntaxProblem)) throw error;
    throw new WaggleError("ephemeral_bad_request", `the body is not JSON: ${error.message}`);
  }
}
