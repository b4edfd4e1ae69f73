import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { waggle, type Ran } from "./cli-support.ts";

let workerd: Workerd;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build") });
});

afterAll(() => workerd?.stop());

function cli(...args: string[]): Promise<Ran> {
  return waggle([...args, "--url", workerd.url]);
}

async function result<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await cli(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as T;
}

interface Peeked {
  messages: { id: string; body: string; attempts: number; metadata: Record<string, unknown> }[];
}

it("dead letters go back to where they come from, as they were, and leave", async () => {
  await cli("queue", "create", "failing");
  const endpoint = ["--endpoint", `${workerd.url}/nowhere`, "--secret", "s"];
  await cli("queue", "consume", "failing", ...endpoint, "--max-retries", "0", "--dead-letter-queue", "failed");
  // More digits than a number keeps: the body has to stay the text that it is.
  await fetch(`${workerd.url}/api/v1/queues/failing/messages`, {
    method: "POST",
    body: '{"body":"1.0","content_type":"text"}',
  });
  await cli("queue", "send", "failing", '{"n":2}');
  const dead = async () => (await result<Peeked>("queue", "peek", "failed")).messages;
  await expect.poll(async () => (await dead()).length, { timeout: 20_000 }).toBe(2);
  const letters = await dead();
  await cli("queue", "send", "failed", '"of its own"');
  await cli("queue", "pause", "failing");

  const { stdout } = await cli("queue", "dlq", "replay", "failed", "--limit", "1");
  expect(stdout).toBe(
    "1 message to failing.\n1 message skipped: leased, delayed, or of unknown origin (--to sends those).\n",
  );
  expect(await result("queue", "dlq", "replay", "failed")).toEqual({ replayed: { failing: 1 }, skipped: 1 });
  const { messages } = await result<Peeked>("queue", "peek", "failing");
  expect(messages.map(({ id, body, attempts }) => ({ id, body, attempts }))).toEqual(
    letters.map(({ id, body }) => ({ id, body, attempts: 0 })),
  );
  // Where they came from once is over.
  expect(messages.map(({ metadata }) => metadata["origin"])).toEqual([undefined, undefined]);

  expect(await result("queue", "dlq", "replay", "failed", "--to", "failing")).toEqual({
    replayed: { failing: 1 },
    skipped: 0,
  });
  expect(await dead()).toEqual([]);
  expect(await cli("queue", "dlq", "replay", "failed")).toMatchObject({ code: 0, stdout: "Nothing to replay.\n" });
  const into = await cli("queue", "dlq", "replay", "failing", "--to", "failing");
  expect(into).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be replayed into itself") });
});
