import { expect, it } from "vitest";
import { encodeBase64 } from "../../src/durable/base64.ts";
import { packMessages } from "../../src/durable/content.ts";
import { freshQueue } from "./support.ts";
import { deadLettered, importable, kept, pulledQueue, transfer, type Ejected } from "./transfer-support.ts";

const v8 = encodeBase64(packMessages([{ body: new Map([[1, 2n]]), contentType: "v8" }]).bodies);

async function emptyQueue() {
  const { queue_id } = await freshQueue();
  return transfer(queue_id);
}

async function ejected(queue: ReturnType<typeof transfer>): Promise<Ejected[]> {
  return queue.all(await queue.eject());
}

it("gives back what was ejected: every content type, delayed and leased messages, two partitions", async () => {
  const from = await pulledQueue();
  await from.send({ ü: [1, null] });
  await from.send("plain ü\u0000", { content_type: "text" });
  await from.send("AAEC/w==", { content_type: "bytes" });
  await from.send(v8, { content_type: "v8", partition: "second" });
  await from.send("later", { content_type: "text", delay_seconds: 600 });
  await from.pull({ batch_size: 2 });
  const before = await ejected(from);
  expect(before).toHaveLength(5);
  expect(before.filter(({ attempts }) => attempts === 1)).toHaveLength(2);
  const to = await emptyQueue();
  for (const partition of ["Default", "second"]) {
    const own = before.filter((one) => one.partition === partition).map((one, i) => importable(one, i + 1));
    expect(await to.import("file", own, partition)).toEqual({ imported: own.length, repeated: 0 });
    expect(await to.import("file", own, partition)).toEqual({ imported: 0, repeated: own.length });
  }
  const after = await ejected(to);
  expect(after.map(kept)).toEqual(expect.arrayContaining(before.map(kept)));
  expect(after).toHaveLength(before.length);
});

it("keeps the origin of a dead letter", async () => {
  const { dead } = await deadLettered("lost");
  await expect.poll(() => dead.count(), { timeout: 20_000 }).toBe(1);
  const [letter] = await ejected(dead);
  const to = await emptyQueue();
  await to.import("file", [importable(letter as Ejected, 1)]);
  expect((await ejected(to)).map(kept)).toEqual([kept(letter as Ejected)]);
});

it("takes as much at once as the command sends, in any script", async () => {
  const to = await emptyQueue();
  const body = "蜂".repeat(42_000);
  const messages = Array.from({ length: 6 }, (_, i) => ({
    number: i + 1,
    id: `id-${i}`,
    content_type: "text",
    body,
    timestamp_ms: 1,
    due_at_ms: null,
    attempts: null,
    origin: null,
  }));
  expect(await to.import("file", messages)).toEqual({ imported: 6, repeated: 0 });
  const begun = await to.eject();
  expect((await to.page(begun.partitions[0]?.cursor ?? "", 300_000)).messages).toHaveLength(2);
  expect((await to.all(begun)).map((one) => one.body)).toEqual(messages.map(() => body));
});
