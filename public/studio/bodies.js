import { bytes } from "./format.js";
import { pretty } from "./json.js";

/** How many bytes are shown of a body that is none of text. */
const HEX_BYTES = 512;

/** @typedef {{ about: string, text: string }} Readable */

/**
 * A body of a durable queue, as a person reads it: `text` as it is, everything else comes in base64.
 *
 * @param {"json" | "text" | "bytes" | "v8"} type
 * @param {string} body
 * @returns {Readable}
 */
export function readable(type, body) {
  if (type === "text") return { about: `text, ${bytes(new TextEncoder().encode(body).byteLength)}`, text: body };
  const raw = Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
  const size = bytes(raw.byteLength);
  switch (type) {
    case "json":
      return { about: `JSON, ${size}`, text: pretty(new TextDecoder().decode(raw)) };
    case "bytes":
      return { about: `bytes, ${size}`, text: hex(raw) };
    case "v8":
      return { about: `v8, ${size}: a structured clone, here in base64`, text: body };
  }
}

/** @param {Uint8Array} raw */
function hex(raw) {
  const lines = [];
  for (let at = 0; at < Math.min(raw.length, HEX_BYTES); at += 16) {
    const part = Array.from(raw.subarray(at, at + 16));
    const digits = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const characters = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${digits.padEnd(47)}  ${characters}`);
  }
  if (raw.length > HEX_BYTES) lines.push(`and ${bytes(raw.length - HEX_BYTES)} more`);
  return lines.join("\n");
}
