import { expect, it } from "vitest";
import { addConsumer, call, freshQueue, QUEUES, result } from "./support.ts";

/** Just past the first sign of life of a long wait. */
const WAIT_MS = 15_500;

async function pulling(): Promise<[queue: string, answer: Promise<Response>]> {
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, { type: "http_pull" });
  return [queue_id, call("POST", `${QUEUES}/${queue_id}/messages/pull`, { wait_ms: WAIT_MS + 10_000 })];
}

it("keeps a long wait alive, and ends it with the whole envelope, whatever it is", async () => {
  const [full, paused] = [await pulling(), await pulling()];
  await scheduler.wait(WAIT_MS);
  await result("POST", `${QUEUES}/${full[0]}/messages`, { body: "at last", content_type: "text" });
  await result("PATCH", `${QUEUES}/${paused[0]}`, { settings: { delivery_paused: true } });

  const [delivered, refused] = await Promise.all([full[1], paused[1]]);
  for (const { status, headers } of [delivered, refused]) {
    expect([status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      200,
      "application/json",
      "no-store",
    ]);
  }
  const text = await delivered.text();
  expect(text).toMatch(/^ +\{/);
  expect(JSON.parse(text)).toMatchObject({ success: true, result: { messages: [{ body: "at last" }] } });
  // Its status was sent before anybody knew.
  expect(await refused.json()).toMatchObject({ success: false, errors: [{ code: 10252 }] });
});
