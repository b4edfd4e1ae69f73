import type { PushConsumerConfig } from "../durable/cursor.ts";
import type { OutgoingBatch, Verdict } from "./batch.ts";
import { deliverToHttp } from "./http.ts";
import { deliverToWorker } from "./worker.ts";

/** Hands a batch to a consumer and says what became of it. Never rejects. */
export function deliver(consumer: PushConsumerConfig, env: object, batch: OutgoingBatch): Promise<Verdict> {
  if (consumer.type === "http") return deliverToHttp(consumer, batch);
  const { binding } = consumer;
  const service = (env as Record<string, unknown>)[binding] as Fetcher | undefined;
  if (service !== undefined) return deliverToWorker(service, binding, batch);
  const reason = `this broker has no service binding ${binding}; add it to its wrangler.toml and deploy it again`;
  return Promise.resolve({ kind: "unreachable", reason });
}
