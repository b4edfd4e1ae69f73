import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { packMessages } from "../../src/durable/content.ts";
import { isQueueRefusal } from "../../src/contract/queue-errors.ts";
import type { DurableQueue } from "../../src/objects/durable-queue.ts";
import { env, freshQueue, QUEUES, result } from "./support.ts";

it("refuses with 10250 what would pile up in memory while the disk is busy, and stores the rest", async () => {
  const { queue_id, queue_name } = await freshQueue();
  const packed = packMessages([{ body: "x".repeat(100_000), contentType: "text" }]);
  const object = env.DURABLE_QUEUE.getByName(`${queue_id}:Default`);
  const answers = await runInDurableObject(object, async (queue: DurableQueue) => {
    await queue.send(queue_name, packed);
    // All within one flush of the disk.
    return Promise.all(Array.from({ length: 200 }, () => queue.send(queue_name, packed)));
  });
  const refused = answers.filter(isQueueRefusal);
  expect(new Set(refused.map((one) => one.refused))).toEqual(new Set([10250]));
  expect(refused.length).toBeGreaterThan(20);
  const { backlog_count } = await result<{ backlog_count: number }>("GET", `${QUEUES}/${queue_name}/metrics`);
  expect(backlog_count).toBe(201 - refused.length);
});
