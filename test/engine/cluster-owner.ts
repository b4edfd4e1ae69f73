import type { Env } from "../../src/config.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Owner } from "../../src/objects/owner.ts";
import { ownerName } from "../../src/placement.ts";
import type { Disk } from "./cluster-disk.ts";
import { Life } from "./cluster-life.ts";

// The runtime's own base class takes only what the runtime itself has made.
Object.setPrototypeOf(Owner, Object);

/** An owner from its start to its crash: the very class that the runtime would run, on a disk and a network of its own. */
export class OwnerLife extends Life {
  readonly owner: Owner;
  readonly engine: Engine;

  constructor(
    readonly index: number,
    disk: Disk,
    env: (caller: Life) => Env,
  ) {
    super();
    const ctx = { id: { name: ownerName(index) }, storage: disk.storage(() => this.isOver), getWebSockets: () => [] };
    const { owner, engine } = build(() => new Owner(ctx as unknown as DurableObjectState, env(this)));
    this.owner = owner;
    this.engine = engine;
  }
}

/**
 * The engine is private to its owner, which looks at its memory as soon as it stands. The look is watched for good:
 * to change a prototype time and again would make everything slow.
 */
let lookedAt: Engine | null = null;
const { get } = Object.getOwnPropertyDescriptor(Engine.prototype, "memoryBytes") as { get: () => number };
Object.defineProperty(Engine.prototype, "memoryBytes", {
  get() {
    lookedAt = this as Engine;
    return get.call(this) as number;
  },
});

function build(construct: () => Owner): { owner: Owner; engine: Engine } {
  const before = lookedAt;
  const owner = construct();
  if (lookedAt === null || lookedAt === before) throw new Error("an owner has been built without an engine");
  return { owner, engine: lookedAt };
}
