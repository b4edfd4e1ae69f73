import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Client, type Message } from "./support.ts";

let workerd: Workerd;
let client: Client;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build"), vars: { OWNERS: 8 } });
  client = new Client(workerd.url);
});
afterAll(() => workerd.stop());

const PARTITIONS = 24;
const PER_PARTITION = 25;
/** Consumers by group. One that is alone must see each partition in order. */
const GROUPS = { alone: 1, pair: 2, crowd: 3 };

/** Pops with no partition until every message has come, acking as it goes. */
async function consume(group: string, seen: Message[], total: number): Promise<void> {
  while (seen.length < total) {
    const messages = await client.pop(`queue=fan&group=${group}&batch=7&wait=true&timeout=500`);
    seen.push(...messages);
    const acks = messages.map(({ id, attempts }) => ({ id, attempts }));
    await client.post("ack", { queue: "fan", group, acks });
  }
}

it("pops with no partition see every message of every owner once a group, in order within a partition", async () => {
  const total = PARTITIONS * PER_PARTITION;
  const seen = new Map(Object.keys(GROUPS).map((group) => [group, [] as Message[]]));
  const consumers = Object.entries(GROUPS).flatMap(([group, count]) =>
    Array.from({ length: count }, () => consume(group, seen.get(group) ?? [], total)),
  );
  const producers = Array.from({ length: PARTITIONS }, async (_, room) => {
    for (let n = 0; n < PER_PARTITION; n++) {
      await client.post("push", { queue: "fan", partition: `room-${room}`, messages: [{ payload: n }] });
    }
  });
  await Promise.all([...producers, ...consumers]);

  const inOrder = Array.from({ length: PER_PARTITION }, (_, n) => n);
  for (const [group, messages] of seen) {
    expect(new Set(messages.map(({ id }) => id)).size).toBe(total);
    expect(messages.length).toBe(total);
    for (let room = 0; room < PARTITIONS; room++) {
      const payloads = messages.filter(({ partition }) => partition === `room-${room}`).map(({ payload }) => payload);
      if (group !== "alone") payloads.sort((x, y) => Number(x) - Number(y));
      expect(payloads).toEqual(inOrder);
    }
  }
  expect(await client.get("/api/v1/ephemeral/queues/fan/depth")).toMatchObject({ pending: 0, bytes: 0 });
});
