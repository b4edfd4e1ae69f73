import type { Env } from "../config.ts";
import { ownerName } from "../placement.ts";
import type { Declarations } from "./declarations.ts";
import type { Owner } from "./owner.ts";

/**
 * An object as its callers see it. Everything that these objects take and answer is plain data, so the stub's own types,
 * which allow for stubs inside of results, come down to a promise of the same.
 */
export type Remote<T> = {
  [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

export function remoteOwner(env: Env, index: number): Remote<Owner> {
  return env.OWNER.getByName(ownerName(index)) as unknown as Remote<Owner>;
}

export function remoteDeclarations(env: Env): Remote<Declarations> {
  return env.DECLARATIONS.getByName("declarations") as unknown as Remote<Declarations>;
}
