import { env as bindings } from "cloudflare:workers";
import type { Verdict } from "../../src/delivery/batch.ts";
import { deliverToWorker } from "../../src/delivery/worker.ts";
import { packMessages, type Draft } from "../../src/durable/content.ts";
import type { StoredMessage } from "../../src/durable/message.ts";
import type { Seen, Step } from "./consumers/script.ts";

export const SENT_AT = Date.UTC(2026, 10, 1, 12);

type Consumers = Record<string, Fetcher>;

export function service(binding: string): Fetcher {
  const found = (bindings as unknown as Consumers)[binding];
  if (found === undefined) throw new Error(`no binding ${binding}`);
  return found;
}

/** Messages as the queue's object holds them. */
export function stored(drafts: readonly Draft[]): StoredMessage[] {
  return drafts.map((draft, index) => {
    const { types, bodies } = packMessages([draft]);
    const type = types[0] ?? "json";
    return { id: `message-${index}`, sentAt: SENT_AT + index, attempts: index + 1, type, body: bodies, origin: null };
  });
}

/** Hands `count` messages to a consumer that does as told. */
export async function deliver(binding: string, count: number, steps: Step[] = []): Promise<Verdict> {
  return deliverMessages(
    binding,
    Array.from({ length: count }, (_, n) => ({ body: n === 0 ? { steps } : n })),
  );
}

export async function deliverMessages(binding: string, drafts: readonly Draft[]): Promise<Verdict> {
  const metrics = { count: 12, bytes: 3456, oldestAt: SENT_AT };
  return deliverToWorker(service(binding), binding, { queue: "orders", metrics, messages: stored(drafts) });
}

export async function seen(binding: string): Promise<Seen> {
  const consumer = service(binding) as unknown as { seen(_: null): Promise<Seen | null> };
  const last = await consumer.seen(null);
  if (last === null) throw new Error(`${binding} was given nothing`);
  return last;
}

/** Each decision in one word: `ack`, the delay of a retry, or `retry` where it has none. */
export function words(verdict: Verdict): unknown {
  if (verdict.kind === "unreachable") return verdict.kind;
  return verdict.decisions.map((d) => (d.kind === "ack" ? "ack" : (d.delaySeconds ?? "retry")));
}
