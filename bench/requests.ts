import { get, post, type Client } from "./client.ts";

/** The requests of the wire, as bytes. */

const ROUTES = "/api/v1/ephemeral";

/** A payload of an exact length, of the kind that signals are made of. */
export function payload(bytes: number): string {
  const head = '{"user":"ada","room":4711,"typing":true,"text":"';
  return `${head}${"x".repeat(bytes - head.length - 2)}"}`;
}

export function pushBody(queue: string, count: number, bytes: number, partition?: string): string {
  const message = `{"payload":${payload(bytes)}}`;
  const where = `"queue":${JSON.stringify(queue)}${partition === undefined ? "" : `,"partition":"${partition}"`}`;
  return `{${where},"messages":[${Array.from({ length: count }, () => message).join(",")}]}`;
}

export function push(queue: string, count: number, bytes: number, partition?: string): Buffer {
  return post(`${ROUTES}/push`, pushBody(queue, count, bytes, partition));
}

export interface PopOptions {
  partition?: string;
  group?: string;
  batch?: number;
  autoAck?: boolean;
  /** Parks for so many milliseconds. */
  timeout?: number;
}

export function pop(queue: string, { partition, group, batch, autoAck, timeout }: PopOptions = {}): Buffer {
  const query = new URLSearchParams({ queue });
  if (partition !== undefined) query.set("partition", partition);
  if (group !== undefined) query.set("group", group);
  if (batch !== undefined) query.set("batch", String(batch));
  if (autoAck === true) query.set("autoAck", "true");
  if (timeout !== undefined) query.set("timeout", String(timeout));
  if (timeout !== undefined) query.set("wait", "true");
  return get(`${ROUTES}/pop?${query}`);
}

export function ackBody(queue: string, ids: readonly string[], group?: string): string {
  return JSON.stringify({ queue, group, acks: ids.map((id) => ({ id })) });
}

export function ack(queue: string, ids: readonly string[], group?: string): Buffer {
  return post(`${ROUTES}/ack`, ackBody(queue, ids, group));
}

export function remove(queue: string): Buffer {
  return Buffer.from(`DELETE ${ROUTES}/queue/${queue} HTTP/1.1\r\nhost: bench\r\n\r\n`);
}

export const metrics: Buffer = get("/metrics");

/** Fills queues with pushes of 100, `pushes` of them in each. */
export async function fill(client: Client, queues: readonly string[], pushes: number, bytes: number): Promise<void> {
  for (const queue of queues) await client.rate(pushes, repeat(push(queue, 100, bytes)), 201);
}

export async function removeAll(client: Client, queues: readonly string[]): Promise<void> {
  await client.rate(queues.length, (index) => remove(queues[index] ?? ""), 200);
}

export function repeat(request: Buffer): () => Buffer {
  return () => request;
}

/** Where a subscriber of one partition opens its WebSocket. */
export function subscribePath(queue: string, partition: string, prefetch: number): string {
  return `${ROUTES}/subscribe?${new URLSearchParams({ queue, partition, prefetch: String(prefetch) })}`;
}

let named = 0;

/** Names that no queue has had before. */
export function freshQueues(count: number): string[] {
  return Array.from({ length: count }, () => `bench-${named++}`);
}
