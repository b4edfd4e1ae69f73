import { evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { queueObjectName } from "../../src/objects/queue-protocol.ts";
import { call, env, freshQueue, refused } from "./support.ts";
import { deadLettered, pulledQueue, transfer, type Ejected } from "./transfer-support.ts";

const bodies = (messages: readonly Ejected[]) => messages.map(({ body }) => body);
const page = (path: string, body: unknown) => call("POST", `${path}/eject/page`, body);
const range = (count: number, prefix = "m") => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

it("answers what there is, with the settings, and how each message stands", async () => {
  const queue = await pulledQueue();
  await queue.send({ a: 1 });
  await queue.send("AAEC", { content_type: "bytes", partition: "second" });
  await queue.send("later", { content_type: "text", delay_seconds: 600 });
  const [leased] = (await queue.pull({ batch_size: 1 })).messages;
  const begun = await queue.eject();
  expect(begun.eject_id).toMatch(/^[0-9a-f]{32}$/);
  expect(begun.queue).toMatchObject({ queue_id: queue.queue, settings: { delivery_delay: 0 } });
  expect(Date.parse(begun.taken_on)).toBeLessThanOrEqual(Date.now());
  const counts = begun.partitions.map(({ partition, count }) => [partition, count]);
  expect(Object.fromEntries(counts)).toEqual({ Default: 2, second: 1 });
  const messages = await queue.all(begun);
  const of = (type: string) => messages.find(({ content_type }) => content_type === type);
  expect(of("json")).toMatchObject({ body: btoa('{"a":1}'), partition: "Default", due_at_ms: null, origin: null });
  expect(of("bytes")).toMatchObject({ body: "AAEC", partition: "second", due_at_ms: null });
  expect(of("text")).toMatchObject({ body: "later", attempts: 0 });
  expect(of("text")?.due_at_ms).toBe((of("text")?.timestamp_ms ?? 0) + 600_000);
  expect(messages.find(({ id }) => id === leased?.id)?.attempts).toBe(1);
  expect(messages).toHaveLength(3);
});

it("holds what was there when it began, whatever happens meanwhile", async () => {
  const queue = await pulledQueue();
  await queue.sendTexts(range(60));
  await queue.sendTexts(range(20, "late"), { delay_seconds: 1 });
  const begun = await queue.eject();
  let round = 0;
  const messages = await queue.all(begun, 2000, async () => {
    await queue.sendTexts([`new ${round++}`]);
    const { messages: pulled } = await queue.pull({ batch_size: 7 });
    await queue.ack(pulled.map(({ lease_id }) => lease_id));
    if (round === 5) await call("POST", `${queue.path}/purge`, { delete_messages_permanently: true });
  });
  expect(round).toBeGreaterThan(8);
  expect(bodies(messages)).toEqual([...range(60), ...range(20, "late")]);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(80);
});

it("answers the same page again", async () => {
  const queue = await pulledQueue();
  await queue.sendTexts(range(30));
  const [partition] = (await queue.eject()).partitions;
  const first = await queue.page(partition?.cursor ?? "", 3000);
  await queue.purge(first.messages.map(({ ref }) => ref));
  expect(await queue.page(partition?.cursor ?? "", 3000)).toEqual(first);
  const second = await queue.page(first.cursor ?? "", 1_000_000);
  expect(second.cursor).toBeNull();
  await call("POST", `${queue.path}/purge`, { delete_messages_permanently: true });
  expect(await queue.page(first.cursor ?? "", 1_000_000)).toEqual(second);
  expect(bodies([...first.messages, ...second.messages])).toEqual(range(30));
});

it("goes on with what is left when its object was evicted, and says so", async () => {
  const queue = await pulledQueue();
  await queue.sendTexts(range(30));
  const [partition] = (await queue.eject()).partitions;
  const first = await queue.page(partition?.cursor ?? "", 3000);
  const { messages: pulled } = await queue.pull({ batch_size: 20 });
  await queue.ack(pulled.map(({ lease_id }) => lease_id));
  await evictDurableObject(env.DURABLE_QUEUE.getByName(queueObjectName(queue.queue, "Default")));
  await queue.sendTexts(["new"]);
  const second = await queue.page(first.cursor ?? "");
  expect(second.moment).toBe("restarted");
  expect(second.cursor).toBeNull();
  expect(bodies(second.messages)).toEqual(range(30).slice(20));
  expect(first).not.toHaveProperty("moment");
});

it("names its messages for a purge, wherever they have gone", async () => {
  const queue = await pulledQueue();
  await queue.sendTexts(["leased", "ready"]);
  await queue.sendTexts(["delayed 1", "delayed 2"], { delay_seconds: 1 });
  const messages = await queue.all(await queue.eject());
  await queue.sendTexts(["new"]);
  const [leased] = (await queue.pull({ batch_size: 1 })).messages;
  expect(leased?.body).toBe("leased");
  // The delayed ones have become ready, and one of them is out.
  await expect
    .poll(async () => (await queue.pull({ batch_size: 3 })).messages.map(({ body }) => body), { timeout: 20_000 })
    .toContain("delayed 1");
  expect((await queue.purge(messages.map(({ ref }) => ref))).warnings).toEqual({});
  expect(await queue.count()).toBe(1);
});

it("says where a dead letter comes from", async () => {
  const { from, dead } = await deadLettered("lost");
  const name = (await from.eject()).queue.queue_name;
  await expect.poll(() => dead.count(), { timeout: 20_000 }).toBe(1);
  const [letter] = await dead.all(await dead.eject());
  expect(letter).toMatchObject({ body: "lost", attempts: 0, origin: { source_queue: name, attempts: 1 } });
});

it("bears four ejects at once, and ends those that were read", async () => {
  const queue = await pulledQueue();
  await queue.sendTexts(["one"]);
  const begun = [await queue.eject(), await queue.eject(), await queue.eject(), await queue.eject()];
  expect(await refused(call("POST", `${queue.path}/eject`), 429, 10250)).toContain("ejected 4 times already");
  for (const one of begun) expect(bodies(await queue.all(one))).toEqual(["one"]);
  expect(bodies(await queue.all(await queue.eject()))).toEqual(["one"]);
});

it("ejects a queue that holds nothing", async () => {
  const { queue_id } = await freshQueue();
  const queue = transfer(queue_id);
  expect((await queue.eject()).partitions).toEqual([]);
  await queue.sendTexts(["one"]);
  await queue.purge((await queue.all(await queue.eject())).map(({ ref }) => ref));
  const begun = await queue.eject();
  expect(begun.partitions).toMatchObject([{ partition: "Default", count: 0 }]);
  expect(await queue.all(begun)).toEqual([]);
});

it("refuses what is no cursor, or of another queue", async () => {
  const queue = await pulledQueue();
  await queue.sendTexts(["one"], { partition: "elsewhere" });
  const [partition] = (await queue.eject()).partitions;
  const other = await pulledQueue();
  expect(await refused(page(queue.path, { cursor: "x" }), 400, 10400)).toContain("cursor must be");
  await refused(page(queue.path, { cursor: btoa('["Default","x",1,2,3,-4]') }), 400, 10400);
  expect(await refused(page(other.path, { cursor: partition?.cursor }), 400, 10400)).toContain("another queue");
  await refused(page(queue.path, { cursor: partition?.cursor, max_bytes: 8 * 1024 * 1024 + 1 }), 400, 10400);
  await refused(page(queue.path, {}), 400, 10400);
  await refused(page(`${queue.path}x`, { cursor: partition?.cursor }), 404, 10104);
  await refused(call("POST", `${queue.path}/eject`, { queue: "x" }), 400, 10400);
});
