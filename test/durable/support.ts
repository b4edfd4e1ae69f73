import { env as bindings, exports } from "cloudflare:workers";
import { expect } from "vitest";
import type { Env } from "../../src/config.ts";

export const env = bindings as unknown as Env;

/** Where the same routes stand. */
export const MOUNTS = ["/api/v1/queues", "/client/v4/accounts/023e105f4ecef8ad9ca31a8372d0c353/queues"] as const;
export const [QUEUES] = MOUNTS;

export interface Envelope<T> {
  success: boolean;
  errors: { code: number; message: string }[];
  messages: unknown[];
  result: T;
  result_info?: { page: number; per_page: number; count: number; total_count: number };
}

export interface Consumer {
  consumer_id: string;
  name: string;
  type: string;
  queue_name: string;
  script_name?: string;
  binding?: string;
  url?: string;
  dead_letter_queue: string | null;
  declared_by: string | null;
  created_on: string;
  settings: Record<string, number>;
}

export interface Queue {
  queue_id: string;
  queue_name: string;
  created_on: string;
  modified_on: string;
  producers: { type: string; script: string }[];
  producers_total_count: number;
  consumers: Consumer[];
  consumers_total_count: number;
  settings: { delivery_delay: number; delivery_paused: boolean; message_retention_period: number };
}

let queues = 0;

/** A name that no other test of this file uses. */
export function freshName(): string {
  queues++;
  return `queue-${queues}`;
}

/** The broker, as a client on the network sees it. A text is sent as it is, anything else as JSON. */
export function call(method: string, path: string, body?: unknown): Promise<Response> {
  const init: RequestInit = { method };
  if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
  return (exports as unknown as { default: Fetcher }).default.fetch(`http://waggle${path}`, init);
}

/** The whole answer of a call that must succeed. */
export async function envelope<T>(method: string, path: string, body?: unknown): Promise<Envelope<T>> {
  const response = await call(method, path, body);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  const answer = JSON.parse(text) as Envelope<T>;
  expect(answer).toMatchObject({ success: true, errors: [], messages: [] });
  return answer;
}

export async function result<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await envelope<T>(method, path, body)).result;
}

/** Asserts the one envelope of failures. Answers its text. */
export async function refused(answer: Promise<Response>, status: number, code: number): Promise<string> {
  const response = await answer;
  const body = await response.json<Envelope<null>>();
  expect([response.status, body.errors.map((error) => error.code)], JSON.stringify(body)).toEqual([status, [code]]);
  expect(Object.keys(body)).toEqual(["success", "errors", "messages", "result"]);
  expect([body.success, body.messages, body.result]).toEqual([false, [], null]);
  expect(response.headers.get("content-type")).toBe("application/json");
  const message = body.errors[0]?.message ?? "";
  expect(message).not.toBe("");
  return message;
}

export function createQueue(name: string, settings?: Partial<Queue["settings"]>): Promise<Queue> {
  return result("POST", QUEUES, settings === undefined ? { queue_name: name } : { queue_name: name, settings });
}

/** A queue with a name of its own. */
export function freshQueue(settings?: Partial<Queue["settings"]>): Promise<Queue> {
  return createQueue(freshName(), settings);
}

export function getQueue(nameOrId: string): Promise<Queue> {
  return result("GET", `${QUEUES}/${nameOrId}`);
}

export function addConsumer(queue: string, consumer: Record<string, unknown>): Promise<Consumer> {
  return result("POST", `${QUEUES}/${queue}/consumers`, consumer);
}
