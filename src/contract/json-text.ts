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
  scanned(() => {
    const scanner = new JsonScanner(text);
    scanner.skip(maxDepth);
    scanner.end();
  });
  return JSON.parse(text);
}

/** Runs a walk over a body; text that is not JSON is a 400 that says where. */
export function scanned<T>(walk: () => T): T {
  try {
    return walk();
  } catch (error) {
    if (!(error instanceof JsonSyntaxProblem)) throw error;
    throw new WaggleError("ephemeral_bad_request", `the body is not JSON: ${error.message}`);
  }
}
