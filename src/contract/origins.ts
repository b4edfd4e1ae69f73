import { WaggleError } from "./errors.ts";

/** Whose pages may call from a browser; the empty set = nobody's. */
export type CorsOrigins = "*" | ReadonlySet<string>;

/** Reads the var `CORS_ORIGINS`: origins as browsers send them, with commas between, or `*`. */
export function parseOrigins(text: unknown): CorsOrigins {
  if (typeof text !== "string") throw bad(text);
  const origins = text.split(",").map((origin) => origin.trim());
  if (origins.length === 1 && origins[0] === "*") return "*";
  if (origins.length === 1 && origins[0] === "") return new Set();
  for (const origin of origins) if (!isOrigin(origin)) throw bad(origin);
  return new Set(origins);
}

/** One that is written otherwise than a browser does, with a path or in capitals, would never match. */
function isOrigin(text: string): boolean {
  return /^https?:[^*]*$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

function bad(given: unknown): WaggleError {
  return new WaggleError(
    "bad_configuration",
    `the var CORS_ORIGINS holds ${JSON.stringify(given)}; it must be "*", or origins like "https://example.com" with commas between`,
  );
}
