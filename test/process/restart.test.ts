import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd } from "../../bench/workerd.ts";
import { Client } from "./support.ts";

const build = inject("build");
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-restart-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Listing {
  queues: { queue: string; tier: string; depth: number; options: { maxLength: number } }[];
}

async function wipes(client: Client): Promise<number> {
  const text = await (await fetch(`${client.url}/metrics`)).text();
  return Number(/^waggle_ephemeral_wipes_total (\d+)$/m.exec(text)?.[1]);
}

/** Longer than `CHECKPOINT_MS`: what was answered before this is on the disk after it. */
const CHECKPOINT = 1100;

it("contents older than a checkpoint survive kill -9, and the end without a sleep is counted", async () => {
  const first = await startWorkerd({ build, dir });
  const before = new Client(first.url);
  await before.post("configure", { queue: "declared", options: { maxLength: 7 } });
  await before.push("declared", [1, 2, 3, 4]);
  const [acked, leased] = await before.pop("queue=declared&group=g&batch=2");
  await before.post("ack", { queue: "declared", group: "g", acks: [{ id: acked?.id }] });
  await before.pop("queue=declared&group=other&batch=4&autoAck=true");
  expect(await wipes(before)).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, CHECKPOINT));
  await first.kill();

  const second = await startWorkerd({ build, dir });
  const after = new Client(second.url);
  const { queues } = await after.get<Listing>("/api/v1/ephemeral/queues");
  expect(queues).toMatchObject([{ queue: "declared", tier: "declared", depth: 3, options: { maxLength: 7 } }]);
  expect(await wipes(after)).toBe(1);
  const ack = { queue: "declared", group: "g", acks: [{ id: leased?.id }] };
  expect(await after.post("ack", ack)).toEqual({ results: [{ id: leased?.id, outcome: "stale" }] });
  const messages = await after.pop("queue=declared&group=g&batch=10");
  expect(messages.map(({ payload, attempts }) => [payload, attempts])).toEqual([
    [2, 2],
    [3, 1],
    [4, 1],
  ]);
  expect(await after.pop("queue=declared&group=other&batch=10")).toEqual([]);
  await second.kill();
});

it("a delete is as durable as a declaration", async () => {
  const first = await startWorkerd({ build, dir });
  await new Client(first.url).post("configure", { queue: "kept", options: {} });
  const deleted = await fetch(`${first.url}/api/v1/ephemeral/queue/declared`, { method: "DELETE" });
  expect(await deleted.json()).toEqual({ queue: "declared", deleted: true, declared: true });
  await first.kill();

  const second = await startWorkerd({ build, dir });
  const { queues } = await new Client(second.url).get<Listing>("/api/v1/ephemeral/queues");
  expect(queues.map(({ queue }) => queue)).toEqual(["kept"]);
  await second.stop();
});
