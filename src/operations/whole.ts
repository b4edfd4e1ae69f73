import * as z from "zod/mini";

/** A whole number of a range, in a form that JSON Schema has, too. */
export function whole(min: number, max: number) {
  return z.int().check(z.minimum(min), z.maximum(max));
}
