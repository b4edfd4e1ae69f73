import { parse, stringify } from "devalue";
import { decodeBody, packMessages } from "../durable/content.ts";
import { decodeBase64, encodeBase64 } from "../durable/base64.ts";
import { UsageError } from "./exit.ts";

/**
 * Bodies of messages in a line of JSON, and back. Exactly one of these fields holds it:
 *
 * - `body`: the JSON value, or the text;
 * - `body_base64`: the bytes of a body of bytes;
 * - `body_devalue`: what JSON cannot hold (Date, Map, Set, BigInt, undefined, bytes inside of values, cycles), in the form
 *   of the package `devalue`, whose `unflatten` gives the value back;
 * - `body_stored`: what not even that can hold, such as an Error: base64 of the form in which the broker stores it.
 */
export interface WrappedBody {
  body?: unknown;
  body_base64?: string;
  body_devalue?: unknown;
  body_stored?: string;
}

export type ContentType = "json" | "text" | "bytes" | "v8";

const LINE_BREAKS = /[\r\n]+/g;

/** The field of a line, as JSON text: a JSON body stays the very text that it is, digits and all. `wire` is as the API has it. */
export function wrap(type: ContentType, wire: string): string {
  switch (type) {
    case "text":
      return `"body":${JSON.stringify(wire)}`;
    case "bytes":
      return `"body_base64":${JSON.stringify(wire)}`;
    case "json":
      // Between values line breaks mean nothing, and within texts there are none.
      return `"body":${Buffer.from(wire, "base64").toString().replaceAll(LINE_BREAKS, " ")}`;
    case "v8":
      return wrapValue(wire);
  }
}

function wrapValue(wire: string): string {
  try {
    const value = decodeBody("v8", bytesOf(wire));
    return isJson(value) ? `"body":${JSON.stringify(value)}` : `"body_devalue":${stringify(value)}`;
  } catch {
    return `"body_stored":${JSON.stringify(wire)}`;
  }
}

/** Whether JSON gives the value back as it is. */
function isJson(value: unknown, above: readonly unknown[] = []): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (above.includes(value)) return false;
  const within = [...above, value];
  if (Array.isArray(value))
    return Object.keys(value).length === value.length && value.every((one) => isJson(one, within));
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  return Object.entries(value).every(([key, one]) => key !== "__proto__" && isJson(one, within));
}

/** The body as the API takes it. `line` is the text of the line that it stands in. */
export function unwrap(type: ContentType, wrapped: WrappedBody, line: string): string {
  const { body, body_base64: base64, body_devalue: devalued, body_stored: stored } = wrapped;
  if (type === "text" && typeof body === "string") return body;
  if (type === "bytes" && typeof base64 === "string") return base64;
  if (type === "json" && "body" in wrapped) return Buffer.from(rawBody(line)).toString("base64");
  if (type === "v8" && typeof stored === "string") return stored;
  if (type === "v8" && devalued !== undefined) return storedForm(parse(JSON.stringify(devalued)));
  if (type === "v8" && "body" in wrapped) return storedForm(body);
  throw new UsageError(`a message of content type ${type} has no body of that type: ${line.slice(0, 60)}`);
}

function storedForm(value: unknown): string {
  return encodeBase64(packMessages([{ body: value, contentType: "v8" }]).bodies);
}

function bytesOf(base64: string): Uint8Array {
  return decodeBase64(base64) ?? new Uint8Array();
}

/** The body stands last in a line that was ejected: its text is taken as it is. */
function rawBody(line: string): string {
  const mark = ',"body":';
  const at = line.indexOf(mark);
  const rest = at < 0 ? "" : line.slice(at + mark.length).replace(/\}\s*$/, "");
  try {
    JSON.parse(rest);
    return rest;
  } catch {
    // Somebody has edited the file: the value is the same, if its digits are.
    return JSON.stringify((JSON.parse(line) as WrappedBody).body);
  }
}
