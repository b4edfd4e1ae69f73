import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { waggle, type Ran } from "./cli-support.ts";
import { Client } from "./support.ts";

const COUNT = 5000;

let from: Workerd;
let to: Workerd;
let folder: string;

beforeAll(async () => {
  const build = inject("build");
  [from, to] = await Promise.all([startWorkerd({ build }), startWorkerd({ build })]);
  folder = await mkdtemp(join(tmpdir(), "waggle-eject-"));
});

afterAll(async () => {
  await from?.stop();
  await to?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function cli(broker: Workerd, ...args: string[]): Promise<Ran> {
  const ran = await waggle([...args, "--url", broker.url]);
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  return ran;
}

async function depth(broker: Workerd): Promise<number> {
  return (await new Client(broker.url).get<{ pending: number }>("/api/v1/ephemeral/queues/rooms/depth")).pending;
}

/** What was ejected, without what an import gives anew. */
function messagesOf({ stdout }: Ran): unknown[] {
  const lines = stdout.trimEnd().split("\n").slice(1, -1);
  return lines.map((line) => {
    const { partition, body } = JSON.parse(line) as Record<string, unknown>;
    return { partition, body };
  });
}

it("an in-memory queue goes to a file and back, once, with its options", { timeout: 120_000 }, async () => {
  const client = new Client(from.url);
  await client.post("configure", { queue: "rooms", options: { ttlSeconds: 3600 } });
  for (let n = 0; n < COUNT; n += 500) {
    const messages = Array.from({ length: 500 }, (_, i) => ({ payload: { n: n + i } }));
    await client.post("push", { queue: "rooms", partition: `p${n % 3}`, messages });
  }
  await client.pop("queue=rooms&group=g&batch=10&partition=p0");
  const before = await depth(from);
  const ejected = await cli(from, "eject", "rooms", "--ephemeral");
  expect(messagesOf(ejected)).toHaveLength(COUNT);
  const [head = ""] = ejected.stdout.split("\n");
  expect(JSON.parse(head)).toMatchObject({
    kind: "ephemeral",
    settings: { tier: "declared", options: { ttlSeconds: 3600 } },
  });
  // Looking has taken nothing and leased nothing.
  expect(await depth(from)).toBe(before);

  const file = join(folder, "rooms.jsonl");
  await writeFile(file, ejected.stdout.slice(0, ejected.stdout.length / 2).replace(/\n[^\n]*$/, "\n"));
  const cut = await waggle(["import", "--file", file, "--url", to.url]);
  expect(cut).toMatchObject({ code: 1, stderr: expect.stringContaining("cut off") });
  await writeFile(file, ejected.stdout);
  const imported = JSON.parse((await cli(to, "import", "--file", file, "--json")).stdout) as Record<string, number>;
  expect((imported["imported"] ?? 0) + (imported["repeated"] ?? 0)).toBe(COUNT);
  expect(imported["repeated"]).toBeGreaterThan(COUNT / 4);
  expect((await cli(to, "import", "--file", file)).stdout).toBe(
    `0 messages stored in rooms, ${COUNT} were there already.\n`,
  );
  expect(await depth(to)).toBe(COUNT);
  const again = await cli(to, "eject", "rooms", "--ephemeral");
  const sorted = (ran: Ran) =>
    messagesOf(ran)
      .map((message) => JSON.stringify(message))
      .toSorted();
  expect(sorted(again)).toEqual(sorted(ejected));

  const drained = await cli(from, "eject", "rooms", "--ephemeral", "--drain");
  expect(messagesOf(drained)).toHaveLength(COUNT);
  expect(await depth(from)).toBe(0);
});
