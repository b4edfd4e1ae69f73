import * as z from "zod/mini";
import { MAX_KEY_BYTES, MAX_NAME_BYTES } from "./limits.ts";

const CONTROL = /[\u0000-\u001f]/;

/** What is wrong with the name of a queue, partition or group; null = nothing. Section 1 of the wire contract. */
export function nameProblem(name: string, maxBytes = MAX_NAME_BYTES): string | null {
  if (name === "") return "must not be empty";
  if (CONTROL.test(name)) return "must not hold a control character";
  if (!name.isWellFormed()) return "must not hold a lone surrogate";
  // Whatever its characters are, UTF-8 takes three bytes a unit at the most.
  if (name.length * 3 > maxBytes && new TextEncoder().encode(name).length > maxBytes) {
    return `must be at most ${maxBytes} bytes of UTF-8`;
  }
  return null;
}

/** A text that names something, of up to so many bytes. */
function text(maxBytes: number) {
  const schema = z.string().check((ctx) => {
    const problem = nameProblem(ctx.value, maxBytes);
    if (problem !== null) ctx.issues.push({ code: "custom", input: ctx.value, message: problem });
  });
  return schema.register(z.globalRegistry, { minLength: 1, maxLength: maxBytes });
}

export const name = text(MAX_NAME_BYTES);

/** The idempotency key of a push. */
export const pushKey = text(MAX_KEY_BYTES);
