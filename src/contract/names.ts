import * as z from "zod/mini";
import { MAX_NAME_BYTES } from "./limits.ts";

/** A name that cannot be longer than allowed whatever its characters are: UTF-8 takes three bytes a unit at the most. */
const SURELY_SHORT = Math.floor(MAX_NAME_BYTES / 3);

const CONTROL = /[\u0000-\u001f]/;

/** What is wrong with the name of a queue, partition or group; null = nothing. Section 1 of the wire contract. */
export function nameProblem(name: string): string | null {
  if (name === "") return "must not be empty";
  if (CONTROL.test(name)) return "must not hold a control character";
  if (!name.isWellFormed()) return "must not hold a lone surrogate";
  if (name.length > SURELY_SHORT && new TextEncoder().encode(name).length > MAX_NAME_BYTES) {
    return `must be at most ${MAX_NAME_BYTES} bytes of UTF-8`;
  }
  return null;
}

export const name = z.string().check((ctx) => {
  const problem = nameProblem(ctx.value);
  if (problem !== null) ctx.issues.push({ code: "custom", input: ctx.value, message: problem });
});
