import { readConfig, type Config, type Env } from "./config.ts";
import { unwrap, WaggleError, type Refusal } from "./contract/errors.ts";
import { DEFAULT_PARTITION } from "./contract/limits.ts";
import type { DeclaredOptions } from "./contract/options.ts";
import type { Import } from "./contract/import-body.ts";
import type { Ack, Imported, Outcome, PopRequest, PushOptions } from "./engine/engine.ts";
import type { WatchedShare } from "./engine/views.ts";
import { parseMessageId } from "./engine/ids.ts";
import type { EjectPlace } from "./engine/moments.ts";
import { listing, type Listing } from "./listing.ts";
import { routeAcks } from "./objects/ack-routing.ts";
import type { Depth } from "./objects/home.ts";
import type { Owner } from "./objects/owner.ts";
import {
  ackColumns,
  pack,
  type Packed,
  type OwnerCounters,
  type OwnerView,
  type PopAnswer,
  type Subscribe,
} from "./objects/protocol.ts";
import { remoteOwner, type Remote } from "./objects/remote.ts";
import type { BegunEject, PageAnswer } from "./objects/transfer.ts";
import { Placement } from "./placement.ts";

/** Between two tries of a parked pop whose owner has just restarted. */
const REPARK_MS = 50;

/** Payloads whose two-byte characters could pass the limit of an RPC travel as UTF-8. */
const PACK_PUSH_CHARS = 8 * 1024 * 1024;

const placements = new Map<number, Placement>();

function placementOf(owners: number): Placement {
  let placement = placements.get(owners);
  if (placement === undefined) {
    placement = new Placement(owners);
    placements.set(owners, placement);
  }
  return placement;
}

/** The broker as a whole, for whoever speaks for a client: finds the owner of what is asked for, and asks it. */
export class Broker {
  readonly config: Config;
  readonly #env: Env;
  readonly #placement: Placement;

  constructor(env: Env) {
    this.#env = env;
    this.config = readConfig(env);
    this.#placement = placementOf(this.config.owners);
  }

  #owner(index: number): Remote<Owner> {
    return remoteOwner(this.#env, index);
  }

  #home(queue: string): Remote<Owner> {
    return this.#owner(this.#placement.home(queue));
  }

  /** Appends JSON texts to a partition, all or none. Answers how many; of a repeat, how many they were at first. */
  async push(
    queue: string,
    payloads: string[],
    partition = DEFAULT_PARTITION,
    isAscii = false,
    { key, requireResponders = false }: PushOptions = {},
  ): Promise<number> {
    if (payloads.length === 0 && !requireResponders) return 0;
    const owner = this.#owner(this.#placement.owner(queue, partition));
    const wide = !isAscii && payloads.reduce((sum, { length }) => sum + length, 0) > PACK_PUSH_CHARS;
    const sent = wide ? payloads.map((payload) => new TextEncoder().encode(payload)) : payloads;
    // What most pushes do not ask for need not travel.
    const options = key === undefined && !requireResponders ? undefined : { key, requireResponders };
    return unwrap(await forwarded(owner.push(queue, partition, sent, isAscii, options)));
  }

  /**
   * Hands messages out. When the owner of a parked pop restarts, the pop is parked again for the rest of its time; once
   * that is over it is empty-handed, whatever went wrong.
   */
  async pop(request: PopRequest): Promise<PopAnswer> {
    const { queue, partition } = request;
    const owner = partition === null ? this.#placement.home(queue) : this.#placement.owner(queue, partition);
    const until = Date.now() + request.waitMs;
    for (;;) {
      const waitMs = request.waitMs === 0 ? 0 : Math.max(0, until - Date.now());
      try {
        return unwrap(await forwarded(this.#owner(owner).pop({ ...request, waitMs })));
      } catch (error) {
        const mayRepark =
          error instanceof WaggleError && error.code === "ephemeral_forward_failed" && request.waitMs > 0;
        if (!mayRepark) throw error;
        if (Date.now() + REPARK_MS >= until) return { json: "", count: 0, handed: [] };
        await scheduler.wait(REPARK_MS);
      }
    }
  }

  /** Opens a WebSocket at the owner of what it subscribes to. */
  async subscribe(subscribe: Omit<Subscribe, "id">): Promise<Response> {
    const { queue, partition } = subscribe;
    const owner = partition === null ? this.#placement.home(queue) : this.#placement.owner(queue, partition);
    const asked = JSON.stringify({ id: crypto.randomUUID(), ...subscribe } satisfies Subscribe);
    const url = `http://owner/?subscribe=${encodeURIComponent(asked)}`;
    const answer = await forwarded(this.#owner(owner).fetch(new Request(url, { headers: { upgrade: "websocket" } })));
    return answer.webSocket === null ? unwrap<Response>(await answer.json<Refusal>()) : answer;
  }

  /** Ends a parked pop whose caller has gone. */
  async cancel({ queue, partition, waiterId }: PopRequest): Promise<void> {
    const owner = partition === null ? this.#placement.home(queue) : this.#placement.owner(queue, partition);
    await this.#owner(owner).cancel(waiterId);
  }

  /** Gives messages back whose answer could not be written, as if they had not been handed out. */
  async release({ queue, group }: PopRequest, { handed }: PopAnswer): Promise<void> {
    for (const [owner, part] of Map.groupBy(handed, ({ partition }) => this.#placement.owner(queue, partition))) {
      await this.#owner(owner).release(queue, group, part);
    }
  }

  /** One outcome per ack, in order; the ids say which owners are asked. */
  async ack(queue: string, group: string, acks: readonly Ack[]): Promise<Outcome[]> {
    return routeAcks(
      acks,
      (partition) => this.#placement.owner(queue, partition),
      (owner, part) => forwarded(this.#owner(owner).ack(queue, group, ackColumns(part))),
    );
  }

  /** The oldest messages of a partition, or of all, as JSON texts joined by commas; nothing is leased. */
  async peek(queue: string, partition: string | null, limit: number): Promise<Packed> {
    const owner = partition === null ? this.#placement.home(queue) : this.#placement.owner(queue, partition);
    const peeked = unwrap(await forwarded(this.#owner(owner).peek(queue, partition, limit)));
    // Whether there is such a queue is known at its home.
    return peeked.isKnown || partition === null ? peeked.json : this.peek(queue, null, 0);
  }

  /** Begins a moment of a queue, which {@link ejectPage} reads partition by partition. */
  async eject(queue: string, ejectId: string): Promise<BegunEject> {
    return unwrap(await forwarded(this.#home(queue).eject(queue, ejectId)));
  }

  async ejectPage(queue: string, partition: string, place: EjectPlace, maxBytes: number): Promise<PageAnswer> {
    const owner = this.#owner(this.#placement.owner(queue, partition));
    return unwrap(await forwarded(owner.ejectPage(queue, partition, place, maxBytes)));
  }

  /** Appends the messages of a file, all or none, but for those of its source that are there already. */
  async import({ queue, partition, source, numbers, payloads }: Import): Promise<Imported> {
    const owner = this.#owner(this.#placement.owner(queue, partition));
    return unwrap(await forwarded(owner.import(queue, partition, source, numbers, payloads.map(pack))));
  }

  /** Removes messages whoever has them. Answers how many were there. */
  async discard(queue: string, ids: readonly string[]): Promise<number> {
    const byOwner = Map.groupBy(ids, (id) => {
      const parsed = parseMessageId(id);
      return parsed === null ? null : this.#placement.owner(queue, parsed.partition);
    });
    byOwner.delete(null);
    const removed = await Promise.all(
      Array.from(byOwner, async ([owner, own]) => unwrap(await forwarded(this.#owner(owner ?? 0).discard(queue, own)))),
    );
    return removed.reduce((sum, count) => sum + count, 0);
  }

  async configure(queue: string, options: DeclaredOptions): Promise<void> {
    await forwarded(this.#home(queue).configure(queue, options));
  }

  /** Answers how many messages went. */
  async reset(queue: string): Promise<number> {
    return forwarded(this.#home(queue).reset(queue));
  }

  async delete(queue: string): Promise<{ deleted: boolean; declared: boolean }> {
    return forwarded(this.#home(queue).remove(queue));
  }

  async dropGroup(queue: string, group: string): Promise<boolean> {
    return forwarded(this.#home(queue).dropGroup(queue, group));
  }

  async depth(queue: string, group: string | null): Promise<Depth> {
    return unwrap(await forwarded(this.#home(queue).depth(queue, group)));
  }

  /** Every queue, over all owners. */
  async queues(): Promise<Listing> {
    return listing(await this.#all((owner) => owner.shares()));
  }

  /** What each owner holds of which queue, for somebody who watches. */
  async watchedShares(): Promise<WatchedShare[][]> {
    return this.#all((owner) => owner.watchedShares());
  }

  async owners(queue: string | null): Promise<OwnerView[]> {
    return this.#all((owner) => owner.view(queue));
  }

  async counters(): Promise<OwnerCounters[]> {
    return this.#all((owner) => owner.counters());
  }

  #all<T>(ask: (owner: Remote<Owner>) => Promise<T>): Promise<T[]> {
    const owners = Array.from({ length: this.config.owners }, (_, index) => this.#owner(index));
    return Promise.all(owners.map((owner) => forwarded(ask(owner))));
  }
}

/** A call that an owner could not answer: it is restarting, or being moved. */
async function forwarded<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    const { code } = (cause ?? {}) as { code?: unknown };
    if (code === "owner_moved") throw new WaggleError(code, (cause as Error).message, { cause });
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WaggleError("ephemeral_forward_failed", `the owner of this queue could not be asked: ${reason}`, {
      cause,
    });
  }
}
