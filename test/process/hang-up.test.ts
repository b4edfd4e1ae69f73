import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Client, eventually, rawGet } from "./support.ts";

let workerd: Workerd;
let client: Client;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build") });
  client = new Client(workerd.url);
});
afterAll(() => workerd.stop());

const PARKED = "/api/v1/ephemeral/pop?queue=left&partition=Default&group=g&wait=true&timeout=14000";
const ANY = "/api/v1/ephemeral/pop?queue=left-any&group=g&wait=true&timeout=14000";

it.each([
  ["one partition", "left", PARKED],
  ["any partition", "left-any", ANY],
])("200 callers that hang up on pops of %s lose no message", async (_where, queue, path) => {
  const sockets = await Promise.all(Array.from({ length: 200 }, () => rawGet(workerd, path)));
  await eventually(() => client.parkedPops(), 200);
  for (const socket of sockets) socket.resetAndDestroy();
  await eventually(() => client.parkedPops(), 0);

  await client.push(
    queue,
    Array.from({ length: 200 }, (_, n) => n),
  );
  const messages = await client.pop(`queue=${queue}&group=g&batch=1000`);
  expect(messages.map(({ payload }) => payload)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  expect(new Set(messages.map(({ attempts }) => attempts))).toEqual(new Set([1]));
});

it("what is pushed in the moment of the hang-up comes to somebody else, by a return or by its lease", async () => {
  await client.post("configure", { queue: "race", options: { leaseSeconds: 1 } });
  const path = "/api/v1/ephemeral/pop?queue=race&group=g&wait=true&timeout=14000";
  const sockets = await Promise.all(Array.from({ length: 50 }, () => rawGet(workerd, path)));
  await eventually(() => client.parkedPops(), 50);
  const pushed = client.push(
    "race",
    Array.from({ length: 50 }, (_, n) => n),
  );
  for (const socket of sockets) socket.resetAndDestroy();
  await pushed;

  const seen = new Set<unknown>();
  const until = Date.now() + 10_000;
  while (seen.size < 50 && Date.now() < until) {
    const messages = await client.pop("queue=race&group=g&batch=100&wait=true&timeout=1000");
    for (const { payload } of messages) seen.add(payload);
    await client.post("ack", { queue: "race", group: "g", acks: messages.map(({ id }) => ({ id })) });
  }
  expect(seen.size).toBe(50);
});
