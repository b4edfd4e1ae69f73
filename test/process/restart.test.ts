import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildBroker, startWorkerd, type Build } from "../../bench/workerd.ts";
import { Client } from "./support.ts";

let build: Build;
let dir: string;

beforeAll(async () => {
  build = await buildBroker();
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

it("a declared queue comes back configured and empty after kill -9, and the loss is counted", async () => {
  const first = await startWorkerd({ build, dir });
  const before = new Client(first.url);
  await before.post("configure", { queue: "declared", options: { maxLength: 7 } });
  await before.push("declared", [1, 2, 3]);
  const [popped] = await before.pop("queue=declared&group=g");
  expect(await wipes(before)).toBe(0);
  // The mark of an owner that holds something is written without holding up a reply.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await first.kill();

  const second = await startWorkerd({ build, dir });
  const after = new Client(second.url);
  const { queues } = await after.get<Listing>("/api/v1/ephemeral/queues");
  expect(queues).toMatchObject([{ queue: "declared", tier: "declared", depth: 0, options: { maxLength: 7 } }]);
  expect(await wipes(after)).toBe(1);
  const ack = { queue: "declared", group: "g", acks: [{ id: popped?.id }] };
  expect(await after.post("ack", ack)).toEqual({ results: [{ id: popped?.id, outcome: "stale" }] });
  await second.stop();
});

it("a delete is as durable as a declaration", async () => {
  const first = await startWorkerd({ build, dir });
  await new Client(first.url).post("configure", { queue: "kept" , options: {} });
  const deleted = await fetch(`${first.url}/api/v1/ephemeral/queue/declared`, { method: "DELETE" });
  expect(await deleted.json()).toEqual({ queue: "declared", deleted: true, declared: true });
  await first.kill();

  const second = await startWorkerd({ build, dir });
  const { queues } = await new Client(second.url).get<Listing>("/api/v1/ephemeral/queues");
  expect(queues.map(({ queue }) => queue)).toEqual(["kept"]);
  await second.stop();
});
