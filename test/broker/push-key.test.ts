import { expect, it } from "vitest";
import {
  ackOne,
  freshQueue,
  listed,
  partitionAway,
  passTime,
  pop,
  popOne,
  popPayloads,
  post,
  read,
  refused,
} from "./support.ts";

const BAD = [400, "ephemeral_bad_request"] as const;

function push(queue: string, payloads: number[], key: unknown, partition?: string): Promise<Response> {
  return post("push", { queue, partition, key, messages: payloads.map((payload) => ({ payload })) });
}

it("a push that is sent again with its key is stored once, wherever its partition lives", async () => {
  const queue = freshQueue();
  for (const partition of ["Default", partitionAway(queue)]) {
    for (let tries = 0; tries < 3; tries++) {
      expect(await read(push(queue, [1, 2], "k", partition), 201)).toEqual({ pushed: 2 });
    }
    expect(await popPayloads(queue, { partition, batch: 10 })).toEqual([1, 2]);
  }
});

it("repeats that arrive together are stored once", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  const answers = Array.from({ length: 10 }, () => read(push(queue, [7], "k", partition), 201));
  expect(await Promise.all(answers)).toEqual(answers.map(() => ({ pushed: 1 })));
  expect(await popPayloads(queue, { partition, batch: 10 })).toEqual([7]);
});

it("a repeat of what has been acked is not stored again", async () => {
  const queue = freshQueue();
  await read(push(queue, [1], "k"), 201);
  expect(await ackOne(queue, { id: (await popOne(queue)).id })).toBe("acked");
  expect(await read(push(queue, [1], "k"), 201)).toEqual({ pushed: 1 });
  expect(await pop(queue)).toEqual([]);
});

it.each([
  ["absent", undefined],
  ["null", null],
])("a key that is %s is none", async (_, key) => {
  const queue = freshQueue();
  await read(push(queue, [1], key), 201);
  await read(push(queue, [1], key), 201);
  expect((await listed(queue))?.depth).toBe(2);
});

it.each([
  ["empty", "", "must not be empty"],
  ["too long", "é".repeat(65), "at most 128 bytes"],
  ["a number", 7, "must be a string, not 7"],
  ["an object", {}, "must be a string"],
  ["a control character", "a\u0000", "control character"],
])("refuses a key that is %s, naming it, and stores nothing", async (_, key, problem) => {
  const queue = freshQueue();
  const error = await refused(push(queue, [1], key), ...BAD);
  expect(error).toContain("key");
  expect(error).toContain(problem);
  expect(await listed(queue)).toBeUndefined();
});

it("a key may take 128 bytes", async () => {
  const queue = freshQueue();
  const key = "é".repeat(64);
  await read(push(queue, [1], key), 201);
  await read(push(queue, [1], key), 201);
  expect((await listed(queue))?.depth).toBe(1);
});

it("keys are forgotten after 60 s", async () => {
  const queue = freshQueue();
  await read(push(queue, [1], "k"), 201);
  passTime(59_000);
  await read(push(queue, [1], "k"), 201);
  expect((await listed(queue))?.depth).toBe(1);
  passTime(2000);
  await read(push(queue, [1], "k"), 201);
  expect((await listed(queue))?.depth).toBe(2);
});
