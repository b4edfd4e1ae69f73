import type { Bearer } from "../auth/verifier.ts";
import type { DeclaredOptions } from "../contract/options.ts";
import type { RingExport } from "../engine/adopt.ts";
import type { Handed } from "../engine/batch.ts";
import type { Ack, AckStatus } from "../engine/engine.ts";
import type { Counters } from "../engine/context.ts";
import type { GroupDepth } from "../engine/views.ts";

/** What the objects and the router say to each other: plain data, cheap to copy. */

/** Texts past this many characters travel as UTF-8: a string of two-byte characters would pass the limit of an RPC. */
const PACK_ABOVE_CHARS = 4 * 1024 * 1024;

export type Packed = string | Uint8Array;

export function pack(text: string): Packed {
  return text.length > PACK_ABOVE_CHARS ? new TextEncoder().encode(text) : text;
}

export function unpack(packed: Packed): string {
  return typeof packed === "string" ? packed : new TextDecoder().decode(packed);
}

/** Acks by column: a row of objects takes ten times as long to copy. */
export interface AckColumns {
  ids: string[];
  /** null = all completed. */
  statuses: AckStatus[] | null;
  /** The deliveries that are meant, 0 = whichever is current; null = all are. */
  attempts: number[] | null;
}

export function ackColumns(acks: readonly Ack[]): AckColumns {
  const allCompleted = acks.every(({ status }) => status === "completed");
  const anyCurrent = acks.every(({ attempts }) => attempts === undefined);
  return {
    ids: acks.map(({ id }) => id),
    statuses: allCompleted ? null : acks.map(({ status }) => status),
    attempts: anyCurrent ? null : acks.map(({ attempts }) => attempts ?? 0),
  };
}

export function acksOf({ ids, statuses, attempts }: AckColumns): Ack[] {
  return ids.map((id, index) => ({
    id,
    status: statuses?.[index] ?? "completed",
    attempts: attempts?.[index] || undefined,
  }));
}

/** The messages of a pop: JSON texts joined by commas, and what they are given back by. */
export interface PopAnswer {
  json: Packed;
  count: number;
  handed: Handed[];
}

export interface ClaimAnswer {
  items: Packed[];
  handed: Handed[];
  bytes: number;
  /** How many messages are left for the group there; null = no part of the queue is, and so no interest either. */
  left: number | null;
}

/** What a home tells an owner that begins to hold a part of a queue. */
export interface Registration {
  /** null = implicit. */
  options: DeclaredOptions | null;
  groups: string[];
  /** Groups that have pops with no partition parked at home. */
  interest: string[];
}

/** What a subscriber asks for. It is kept with its socket, and so outlives the owner's sleep. */
export interface Subscribe {
  /** Names the subscription. */
  id: string;
  queue: string;
  /** null = any partition. */
  partition: string | null;
  group: string;
  prefetch: number;
  /** What the client may do, and until when: later frames are judged by it. */
  bearer: Bearer;
}

/** A part of a queue that an owner holds away from its home. */
export interface Holding {
  queue: string;
  groups: string[];
  /** Whether partitions of it are served here; groups are of interest either way. */
  serves: boolean;
}

/** The membership as an owner finds it. */
export interface Membership {
  epoch: number;
  /** Earlier numbers of owners whose partitions may not all have moved yet; empty = everything is in its place. */
  earlier: number[];
}

/** A partition on its way to its new owner, or a piece of it. */
export interface Parcel {
  /** Names this move of this partition for good: whoever has taken it over once does not do so again. */
  move: string;
  /** The membership in which it moves. */
  epoch: number;
  queue: string;
  /** The groups of the queue that the sender knows. */
  groups: string[];
  index: number;
  last: boolean;
  ring: RingExport;
}

/** A partition that an owner has begun to send: it may have arrived by now. */
export interface Offer {
  queue: string;
  partition: string;
  move: string;
  target: number;
}

/** Which partitions an owner holds, and what else there is to know about it. */
export interface OwnerView {
  owner: string;
  incarnation: string;
  rings: number;
  queues: number;
  bytes: number;
  parkedPops: number;
  subscribers: number;
  /** Of the queue that was asked for, sorted. */
  partitions?: string[];
}

/** What an owner has counted since it started. */
export interface OwnerCounters extends Counters {
  forwarded: number;
  wipes: number;
  /** Rows written for checkpoints since this owner started. */
  checkpointRows: number;
  /** Alarms set since this owner started: a row each. */
  alarmsSet: number;
  /** Payload bytes held. */
  bytes: number;
  /** Names of the queues held: one queue may stand on several owners. */
  queues: string[];
  parkedPops: number;
  subscribers: number;
}

export type DepthTotals = { held: number; bytes: number; groups: GroupDepth[] };

/** What an owner is told when it starts. */
export interface Joined {
  declarations: Declaration[];
  membership: Membership;
}

/** A declaration as it is stored. */
export interface Declaration {
  queue: string;
  options: DeclaredOptions;
}
