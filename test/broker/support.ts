import { env as bindings, exports } from "cloudflare:workers";
import { expect } from "vitest";
import type { Env } from "../../src/config.ts";
import type { DeclaredOptions } from "../../src/contract/options.ts";
import type { ListedQueue, Listing } from "../../src/listing.ts";
import type { Depth } from "../../src/objects/home.ts";
import type { OwnerView } from "../../src/objects/protocol.ts";
import { Placement } from "../../src/placement.ts";

export const env = bindings as unknown as Env;

/** How many owners this run of the suite has. */
export const OWNERS = Number(env.OWNERS);

const placement = new Placement(OWNERS);

/** The broker, as a client on the network sees it. */
export function call(path: string, init?: RequestInit): Promise<Response> {
  return (exports as unknown as { default: Fetcher }).default.fetch(`http://waggle${path}`, init);
}

let queues = 0;

/** A name that no other test of this file uses. */
export function freshQueue(): string {
  queues++;
  return `queue-${queues}`;
}

/** Posts to an ephemeral route: text as it is, anything else as JSON. */
export function post(verb: string, body: unknown): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return call(`/api/v1/ephemeral/${verb}`, { method: "POST", body: text });
}

/** The JSON of an answer that must have this status. */
export async function read<T>(answer: Promise<Response>, status = 200): Promise<T> {
  const response = await answer;
  const text = await response.text();
  expect(response.status, text).toBe(status);
  return JSON.parse(text) as T;
}

/** Asserts the one envelope of failures. Answers its text. */
export async function refused(answer: Promise<Response>, status: number, code: string): Promise<string> {
  const response = await answer;
  const body = await response.json<{ error: string; code: string }>();
  expect([response.status, body.code], body.error).toEqual([status, code]);
  expect(Object.keys(body)).toEqual(["error", "code"]);
  expect(body.error).toBeTypeOf("string");
  expect(body.error).not.toBe("");
  expect(response.headers.get("content-type")).toBe("application/json");
  return body.error;
}

/** Pushes JSON texts as they are. */
export function pushTexts(queue: string, texts: readonly string[], partition?: string): Promise<Response> {
  const messages = texts.map((text) => `{"payload":${text}}`).join(",");
  const where = partition === undefined ? "" : `"partition":${JSON.stringify(partition)},`;
  return post("push", `{"queue":${JSON.stringify(queue)},${where}"messages":[${messages}]}`);
}

export function tryPush(queue: string, payloads: readonly unknown[], partition?: string): Promise<Response> {
  return pushTexts(
    queue,
    payloads.map((payload) => JSON.stringify(payload)),
    partition,
  );
}

export async function push(queue: string, payloads: readonly unknown[], partition?: string): Promise<void> {
  expect(await read(tryPush(queue, payloads, partition), 201)).toEqual({ pushed: payloads.length });
}

export interface Popped {
  id: string;
  partition: string;
  attempts: number;
  payload: unknown;
}

export type Parameters = Record<string, string | number | boolean>;

export function popPath(queue: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams({ queue });
  for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
  return `/api/v1/ephemeral/pop?${query}`;
}

export async function pop(queue: string, parameters: Parameters = {}): Promise<Popped[]> {
  const answer = await read<{ queue: string; messages: Popped[] }>(call(popPath(queue, parameters)));
  expect(answer.queue).toBe(queue);
  return answer.messages;
}

/** A pop that parks until something comes, long enough for any test. */
export function waitingPop(queue: string, parameters: Parameters = {}): Promise<Popped[]> {
  return pop(queue, { wait: true, timeout: 10_000, ...parameters });
}

/** The payloads that a pop answers. */
export async function popPayloads(queue: string, parameters: Parameters = {}): Promise<unknown[]> {
  return payloadsOf(await pop(queue, parameters));
}

export function payloadsOf(messages: readonly Popped[]): unknown[] {
  return messages.map(({ payload }) => payload);
}

/** The one element of a list that must have exactly one. */
export function only<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1);
  return items[0] as T;
}

/** The one message that a pop must answer. */
export async function popOne(queue: string, parameters: Parameters = {}): Promise<Popped> {
  return only(await pop(queue, parameters));
}

export interface AckEntry {
  id: string;
  status?: string | null;
  attempts?: number;
  error?: string;
}

/** The outcomes of one ack call, in order. */
export async function ack(queue: string, acks: readonly AckEntry[], group?: string): Promise<string[]> {
  const { results } = await read<{ results: { id: string; outcome: string }[] }>(post("ack", { queue, group, acks }));
  expect(results.map(({ id }) => id)).toEqual(acks.map(({ id }) => id));
  return results.map(({ outcome }) => outcome);
}

export async function ackOne(queue: string, entry: AckEntry, group?: string): Promise<string> {
  return only(await ack(queue, [entry], group));
}

export async function configure(queue: string, options: DeclaredOptions = {}): Promise<void> {
  expect(await read(post("configure", { queue, options }), 201)).toEqual({ queue, options, declared: true });
}

export function reset(queue: string): Promise<{ queue: string; dropped: number }> {
  return read(post("reset", { queue }));
}

export function remove(queue: string): Promise<{ queue: string; deleted: boolean; declared: boolean }> {
  return read(call(`/api/v1/ephemeral/queue/${encodeURIComponent(queue)}`, { method: "DELETE" }));
}

export function dropGroup(queue: string, group: string): Promise<{ queue: string; group: string; deleted: boolean }> {
  const path = `/api/v1/ephemeral/queues/${encodeURIComponent(queue)}/groups/${encodeURIComponent(group)}`;
  return read(call(path, { method: "DELETE" }));
}

export function depthPath(queue: string, group?: string): string {
  const query = group === undefined ? "" : `?group=${encodeURIComponent(group)}`;
  return `/api/v1/ephemeral/queues/${encodeURIComponent(queue)}/depth${query}`;
}

export function depth(queue: string, group?: string): Promise<Depth> {
  return read(call(depthPath(queue, group)));
}

export function list(): Promise<Listing> {
  return read(call("/api/v1/ephemeral/queues"));
}

/** How a queue is listed; undefined = it is not. */
export async function listed(queue: string): Promise<ListedQueue | undefined> {
  const { queues: entries } = await list();
  return entries.find((entry) => entry.queue === queue);
}

export async function owners(queue?: string): Promise<OwnerView[]> {
  const query = queue === undefined ? "" : `?queue=${encodeURIComponent(queue)}`;
  return (await read<{ owners: OwnerView[] }>(call(`/api/v1/system/owners${query}`))).owners;
}

async function parkedPops(): Promise<number> {
  return (await owners()).reduce((sum, owner) => sum + owner.parkedPops, 0);
}

/** Waits until that many pops are parked, over all owners. */
export async function parked(count: number): Promise<void> {
  await expect.poll(parkedPops, { interval: 10, timeout: 20_000 }).toBe(count);
}

/**
 * Partitions of a queue that live on as many different owners as there are, none of them its home. With one owner, all
 * live at home, and what holds must hold all the same.
 */
export function partitionsAway(queue: string, count = 1): string[] {
  const taken = new Set([placement.home(queue)]);
  const found: string[] = [];
  for (let i = 0; found.length < count; i++) {
    const partition = `part-${i}`;
    const owner = placement.owner(queue, partition);
    if (taken.size < OWNERS && taken.has(owner)) continue;
    taken.add(owner);
    found.push(partition);
  }
  return found;
}

export function partitionAway(queue: string): string {
  return only(partitionsAway(queue));
}

/** Two partitions of a queue that one owner holds, which is not its home if there is another. */
export function partitionsTogether(queue: string): [string, string] {
  const first = partitionAway(queue);
  for (let i = 0; ; i++) {
    const second = `twin-${i}`;
    if (placement.owner(queue, second) === placement.owner(queue, first)) return [first, second];
  }
}

/** The stub of a queue's home, for what no client can see or do. */
export function homeOf(queue: string) {
  return env.OWNER.getByName(`owner-${placement.home(queue)}`);
}

const realNow = Date.now.bind(Date);
let ahead = 0;

/**
 * Moves the clock of the whole broker ahead: it runs in the isolate of the tests. Never back, since an owner's clock does
 * not go back either. An owner notices with the next request that reaches it; its timers, which run in real time, do not:
 * a test that needs them belongs into a file that does not move the clock.
 */
export function passTime(ms: number): void {
  ahead += ms;
  Date.now = () => realNow() + ahead;
}
