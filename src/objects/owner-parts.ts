import { readConfig, type Env } from "../config.ts";
import { Engine } from "../engine/engine.ts";
import { newIncarnation } from "../engine/ids.ts";
import { specimen } from "../engine/specimen.ts";
import { clientName, isInTransit } from "../engine/transit.ts";
import { keep } from "../kept.ts";
import { ownerName, Placement } from "../placement.ts";
import { Admission } from "./admission.ts";
import { Gather } from "./gather.ts";
import { Home, type Turn } from "./home.ts";
import { Journal } from "./journal.ts";
import { Life } from "./life.ts";
import { heldByIsolate, setHeld } from "./memory.ts";
import { Moves } from "./moves.ts";
import { keyOf } from "./parcels.ts";
import { ParkedPops } from "./parked-pops.ts";
import { Peers } from "./peers.ts";
import { Share } from "./share.ts";
import { Sockets, type SocketsHost } from "./sockets.ts";
import { Transfer } from "./transfer.ts";

keep(specimen());

/**
 * The parts of an owner, and how they are joined: `Admission` lets requests in, the engine decides, `Home` and `Share` keep
 * the owners of a queue in step, `Gather` serves pops that name no partition, `Sockets` speaks to subscribers, `Life` keeps
 * the object awake while it holds anything.
 */
export class OwnerParts {
  readonly name: string;
  readonly incarnation = newIncarnation();
  readonly peers: Peers;
  readonly engine: Engine;
  readonly home: Home;
  readonly share: Share;
  readonly gather: Gather;
  readonly moves: Moves;
  readonly journal: Journal;
  readonly life: Life;
  readonly sockets: Sockets;
  readonly admission: Admission;
  readonly parked: ParkedPops;
  readonly transfer: Transfer;

  constructor(ctx: DurableObjectState, env: Env, push: SocketsHost["push"]) {
    const config = readConfig(env);
    const name = ctx.id.name ?? ctx.id.toString();
    this.name = name;
    this.peers = new Peers(env, new Placement(config.owners), Number(name.slice(ownerName(0).length - 1)));
    this.engine = new Engine({
      incarnation: this.incarnation,
      settings: config.engine,
      isHome: (queue) => this.peers.isHome(queue),
      isHere: (queue, partition) => {
        const place = { queue: clientName(queue), partition };
        if (isInTransit(queue) && this.journal.offered.has(keyOf(place))) return false;
        return this.peers.placement.owner(place.queue, partition) === this.peers.self;
      },
      hasRoom: (bytes) => {
        setHeld(name, this.engine.memoryBytes);
        return heldByIsolate() + bytes <= config.maxBytes;
      },
      effects: {
        answer: (waiter, batch) => this.parked.answer(waiter.id, batch),
        deliver: (id, number, batch) => this.sockets.deliver(id, number, batch),
        ended: (id, why, out) => this.sockets.ended(id, why, out),
        attend: (queue, group) => void this.#attend(queue, group),
        available: (queue, group) => void this.share.announce(queue, group),
        gather: (queue, group) => {
          const parked = this.engine.queues.get(queue)?.groups.get(group);
          if (parked !== undefined) void this.gather.serve(parked);
        },
        askIdle: (queue, group) => void this.share.askIdle(queue, group),
        groupForgotten: (queue, group) => this.share.groupForgotten(queue, group),
        queueCollected: (queue) => {
          if (!this.peers.isHome(queue) && !isInTransit(queue)) this.share.left(queue);
        },
        log: (event, details) => console.log({ event, owner: name, ...details }),
      },
    });
    this.journal = new Journal(ctx.storage, this.engine);
    this.life = new Life(ctx.storage, this.engine, this.journal, {
      name,
      checkpointMs: config.checkpointMs,
      wake: () => {
        this.engine.advance(Date.now());
        setHeld(name, this.engine.memoryBytes);
        this.life.tick();
      },
    });
    this.parked = new ParkedPops(this.turn);
    this.engine.start(Date.now());
    // Before the queues of this owner are looked at: theirs must not be taken for idle, nor for known to their homes.
    this.sockets = new Sockets(ctx, this.engine, this.turn, this.peers, { push });
    this.share = new Share(this.turn, this.peers, this.engine);
    this.gather = new Gather(this.turn, this.peers, (queue) => this.home.others(queue));
    this.moves = new Moves(this.engine, this.turn, this.peers, this.journal, {
      open: (queue, groups) => this.admission.openFor(queue, groups),
      flush: () => this.life.flush(),
    });
    // What is kept in memory alone ends without a mark.
    if (config.checkpointMs === 0) this.journal.holdersKnown = false;
    this.home = new Home(this.engine, this.turn, this.peers, this.gather, this.journal, (membership) =>
      this.moves.begin(membership),
    );
    this.admission = new Admission({
      engine: this.engine,
      peers: this.peers,
      home: this.home,
      share: this.share,
      moves: this.moves,
    });
    this.transfer = new Transfer({
      turn: this.turn,
      peers: this.peers,
      home: this.home,
      admission: this.admission,
    });
    setHeld(name, this.engine.memoryBytes);
  }

  /** One step of the engine, at the time that it is now, and what follows from it. */
  readonly turn: Turn = (act) => {
    this.engine.advance(Date.now());
    const result = act(this.engine);
    setHeld(this.name, this.engine.memoryBytes);
    this.life.settle();
    return result;
  };

  /** A subscriber of any partition waits: whoever else has messages for it is to say so. */
  async #attend(queue: string, name: string): Promise<void> {
    // The engine may be in the middle of a step.
    await Promise.resolve();
    if (this.home.others(queue).length > 0) this.attendNow(queue, name);
  }

  /** Asks the other owners of a queue for what pops of all partitions wait for here. */
  attendNow(queue: string, name: string): void {
    const group = this.engine.queues.get(queue)?.groups.get(name);
    if (group?.parking.isOccupied) this.gather.attend(group);
  }
}
