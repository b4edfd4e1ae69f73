import type { Env } from "../config.ts";
import type { Placement } from "../placement.ts";
import type { Declarations } from "./declarations.ts";
import type { Owner } from "./owner.ts";
import { remoteDeclarations, remoteOwner, type Remote } from "./remote.ts";

/** The other owners, as one of them calls them. */
export class Peers {
  /** Calls made to other owners on behalf of requests. */
  calls = 0;
  readonly #env: Env;

  constructor(
    env: Env,
    readonly placement: Placement,
    readonly self: number,
  ) {
    this.#env = env;
  }

  isHome(queue: string): boolean {
    return this.placement.home(queue) === this.self;
  }

  owner(index: number): Remote<Owner> {
    this.calls++;
    return remoteOwner(this.#env, index);
  }

  home(queue: string): Remote<Owner> {
    return this.owner(this.placement.home(queue));
  }

  declarations(): Remote<Declarations> {
    return remoteDeclarations(this.#env);
  }

  /** Every other owner of a membership of `members`. */
  othersOf(members: number): number[] {
    return Array.from({ length: members }, (_, index) => index).filter((index) => index !== this.self);
  }
}
