import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Client, eventually } from "./support.ts";

const build = inject("build");
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-membership-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const ROOMS = Array.from({ length: 40 }, (_, n) => (n === 0 ? "Default" : `room-${n}`));
const NUMBERS = Array.from({ length: 20 }, (_, n) => n);
const CHECKPOINT = 1200;

async function handedOver(client: Client): Promise<number> {
  const text = await (await fetch(`${client.url}/metrics`)).text();
  return Number(/^waggle_ephemeral_handed_over_total (\d+)$/m.exec(text)?.[1]);
}

async function partitionsByOwner(client: Client): Promise<string[][]> {
  const { owners } = await client.get<{ owners: { partitions: string[] }[] }>("/api/v1/system/owners?queue=rooms");
  return owners.map(({ partitions }) => partitions);
}

/** Everything that a group is still owed, by partition, with its attempts. */
async function drain(client: Client, group: string): Promise<Map<string, [unknown, number][]>> {
  const seen = new Map<string, [unknown, number][]>();
  for (;;) {
    const messages = await client.pop(`queue=rooms&group=${group}&batch=1000`);
    if (messages.length === 0) return seen;
    for (const { partition, payload, attempts } of messages) {
      const list = seen.get(partition) ?? [];
      seen.set(partition, list);
      list.push([payload, attempts]);
    }
    await client.post("ack", { queue: "rooms", group, acks: messages.map(({ id }) => ({ id })) });
  }
}

/** Restarts the broker with another number of owners, after a crash. */
async function restart(before: Workerd, owners: number): Promise<Workerd> {
  await new Promise((resolve) => setTimeout(resolve, CHECKPOINT));
  await before.kill();
  return startWorkerd({ build, dir, vars: { OWNERS: owners } });
}

it("contents, positions and leases follow a change of the number of owners, up and down", async () => {
  let workerd = await startWorkerd({ build, dir, vars: { OWNERS: 8 } });
  let client = new Client(workerd.url);
  await client.post("configure", { queue: "rooms", options: { leaseSeconds: 600 } });
  // Both groups are there before the messages; the first has acked 5 of each room, holds 5 and has not seen the rest.
  for (const group of ["some", "none"]) await client.pop(`queue=rooms&group=${group}`);
  for (const room of ROOMS) {
    const messages = NUMBERS.map((payload) => ({ payload }));
    await client.post("push", { queue: "rooms", partition: room, messages });
    const acked = await client.pop(`queue=rooms&partition=${room}&group=some&batch=5`);
    await client.post("ack", { queue: "rooms", group: "some", acks: acked.map(({ id }) => ({ id })) });
    await client.pop(`queue=rooms&partition=${room}&group=some&batch=5`);
  }

  workerd = await restart(workerd, 12);
  client = new Client(workerd.url);
  await eventually(async () => (await partitionsByOwner(client)).flat().length, ROOMS.length);
  await eventually(async () => (await partitionsByOwner(client)).length, 12);
  expect(await handedOver(client)).toBeGreaterThan(0);
  const spread = (await partitionsByOwner(client)).filter((partitions) => partitions.length > 0).length;
  expect(spread).toBeGreaterThan(8);

  workerd = await restart(workerd, 5);
  client = new Client(workerd.url);
  await eventually(async () => (await partitionsByOwner(client)).flat().length, ROOMS.length);
  const { queues } = await client.get<{ queues: unknown[] }>("/api/v1/ephemeral/queues");
  expect(queues).toMatchObject([{ queue: "rooms", tier: "declared", depth: ROOMS.length * NUMBERS.length, groups: 2 }]);

  const some = await drain(client, "some");
  const none = await drain(client, "none");
  for (const room of ROOMS) {
    expect(some.get(room)).toEqual(NUMBERS.slice(5).map((n) => [n, n < 10 ? 2 : 1]));
    expect(none.get(room)).toEqual(NUMBERS.map((n) => [n, 1]));
  }
  expect(await client.get("/api/v1/ephemeral/queues/rooms/depth")).toMatchObject({ pending: 0, bytes: 0 });
  await workerd.stop();
});

it("a request for a partition that has not moved yet brings it along", async () => {
  let workerd = await startWorkerd({ build, dir, vars: { OWNERS: 5 } });
  let client = new Client(workerd.url);
  for (const room of ROOMS) {
    const messages = NUMBERS.map((payload) => ({ payload }));
    await client.post("push", { queue: "pulled", partition: room, messages });
  }
  workerd = await restart(workerd, 9);
  client = new Client(workerd.url);
  // At once, while nobody has been called yet: order must hold, so the old contents come before the new.
  await Promise.all(
    ROOMS.map((room) => client.post("push", { queue: "pulled", partition: room, messages: [{ payload: "new" }] })),
  );
  for (const room of ROOMS) {
    const messages = await client.pop(`queue=pulled&partition=${room}&batch=100&autoAck=true`);
    expect(messages.map(({ payload }) => payload)).toEqual([...NUMBERS, "new"]);
  }
  await workerd.stop();
});
