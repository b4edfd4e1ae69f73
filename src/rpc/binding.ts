import type { DeclaredOptions } from "../contract/options.ts";
import type { Outcome } from "../engine/engine.ts";
import type { Listing } from "../listing.ts";
import type { Depth } from "../objects/home.ts";

export type Verb = "push" | "pop" | "ack" | "configure" | "reset" | "delete" | "queues" | "depth";

/** What a binding may be confined to, in the `props` of its service binding: only who deploys can set them. */
export interface EphemeralProps {
  /** The only queue that this binding can reach; a trailing `*` stands for any rest. */
  queue?: string;
  /** The only verbs that it can use. */
  verbs?: Verb[];
}

export interface EphemeralMessage<T = unknown> {
  id: string;
  partition: string;
  /** 1 at the first delivery to this group. */
  attempts: number;
  payload: T;
}

export interface PushOptions {
  /** `Default` when absent. */
  partition?: string;
  /**
   * Names this push, in up to 128 bytes: sent again with the same key within 60 s, it stores nothing and answers as it
   * did at first, so that a push whose answer was lost can be repeated.
   */
  key?: string;
  /**
   * Whether to refuse the push with `no_responders` when no pop waits for it and none has come within 5 s. With no
   * payloads at all it only asks.
   */
  requireResponders?: boolean;
}

export interface PopOptions {
  /** Absent = any partition. */
  partition?: string;
  /** Consumers that share a group share the messages; absent = queue mode. */
  group?: string;
  /** 1 to 10,000 messages; 1 when absent. */
  batch?: number;
  /** Whether to wait for a message when there is none. */
  wait?: boolean;
  /** How long to wait, in ms, up to 300,000. */
  timeout?: number;
  /** Whether a message counts as consumed once it has been handed out. */
  autoAck?: boolean;
}

export type AckStatus = "completed" | "retry" | "failed";

/** A popped message, or as much of it as an ack needs. */
export interface Settled {
  id: string;
  attempts?: number;
  status?: AckStatus;
}

/**
 * Ephemeral queues as a Worker sees them through a service binding to the entrypoint `Ephemeral`: declare the binding
 * with this type. Every method throws a `WaggleError` with the `code` and `status` of the wire contract.
 */
export interface EphemeralBinding {
  /**
   * Appends payloads: each element *is* one payload, any value that JSON can hold. All or none.
   *
   * ```ts
   * await env.EPHEMERAL.push("rpc-requests", [{ n: 7, replyTo: inbox }], { key: crypto.randomUUID() });
   * ```
   */
  push(queue: string, payloads: unknown[], options?: PushOptions): Promise<{ pushed: number }>;
  /** Hands out messages; with `wait`, parks until there are some or the time is over, and then answers with none. */
  pop<T = unknown>(queue: string, options?: PopOptions): Promise<{ queue: string; messages: EphemeralMessage<T>[] }>;
  /**
   * Settles popped messages, or their ids. A message brings its `attempts` along, so that an ack that comes too late
   * cannot settle the delivery of somebody else. A message's own `status` wins over that of the options.
   */
  ack(
    queue: string,
    messages: (string | Settled)[],
    options?: { group?: string; status?: AckStatus },
  ): Promise<{ results: { id: string; outcome: Outcome }[] }>;
  /** Declares a queue with these options, in place of all earlier ones. */
  configure(
    queue: string,
    options?: DeclaredOptions,
  ): Promise<{ queue: string; options: DeclaredOptions; declared: true }>;
  /** Drops every message and lease of a queue; groups, partitions and declaration stay. */
  reset(queue: string): Promise<{ queue: string; dropped: number }>;
  /** Removes a queue with its contents, groups and declaration. */
  delete(queue: string): Promise<{ queue: string; deleted: boolean; declared: boolean }>;
  /** Every queue that this binding can reach. */
  queues(): Promise<Listing>;
  /** How much waits in a queue; throws `ephemeral_queue_not_found`. */
  depth(queue: string, options?: { group?: string }): Promise<Depth>;
}
