import { lacking } from "../auth/judge.ts";
import type { Need } from "../auth/need.ts";
import { refuse, type Refusal } from "../contract/errors.ts";
import type { Subscribe } from "./protocol.ts";

/** What a frame's sender lacks for it, by the token that its socket was opened with. */
export function forbidden({ bearer: { claims } }: Pick<Subscribe, "bearer">, needOf: () => Need): Refusal | null {
  const problem = claims.admin === true ? null : lacking(claims, needOf());
  return problem === null ? null : refuse("forbidden", problem);
}
