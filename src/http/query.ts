import { WaggleError } from "../contract/errors.ts";

/**
 * The parameters of a request's query, the first of each name. Strict: a bad escape, or bytes that are not UTF-8, are
 * refused, where `URLSearchParams` would put a replacement character into a queue's name.
 */
export function queryOf(url: string): Record<string, string> {
  const params: Record<string, string> = Object.create(null);
  const [beforeFragment = ""] = url.split("#", 1);
  const from = beforeFragment.indexOf("?");
  if (from < 0) return params;
  for (const pair of beforeFragment.slice(from + 1).split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), "the query");
    params[name] ??= equals < 0 ? "" : decode(pair.slice(equals + 1), name);
  }
  return params;
}

/** Decodes one segment of a path. */
export function decodeSegment(segment: string, field: string): string {
  return decodeEscapes(segment, field);
}

function decode(text: string, field: string): string {
  return decodeEscapes(text.replaceAll("+", " "), field);
}

function decodeEscapes(text: string, field: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new WaggleError("ephemeral_bad_request", `${field} is not percent-encoded UTF-8`, { cause });
  }
}
