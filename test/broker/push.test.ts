import { expect, it } from "vitest";
import {
  call,
  configure,
  depth,
  freshQueue,
  listed,
  pop,
  popOne,
  popPayloads,
  post,
  push,
  read,
  refused,
} from "./support.ts";

const BAD = [400, "ephemeral_bad_request"] as const;

it.each([
  ["absent", ""],
  ["null", '"partition":null,'],
  ["named", '"partition":"Default",'],
])("puts messages whose partition is %s into Default", async (_, partition) => {
  const queue = freshQueue();
  await read(post("push", `{"queue":"${queue}",${partition}"messages":[{"payload":1}]}`), 201);
  expect((await popOne(queue, { partition: "Default" })).partition).toBe("Default");
});

it("refuses an empty partition, naming it", async () => {
  const queue = freshQueue();
  const error = await refused(post("push", { queue, partition: "", messages: [{ payload: 1 }] }), ...BAD);
  expect(error).toContain("partition");
  expect(await listed(queue)).toBeUndefined();
});

it("creates nothing for no messages", async () => {
  const queue = freshQueue();
  expect(await read(post("push", { queue, messages: [] }), 201)).toEqual({ pushed: 0 });
  expect(await read(post("push", { queue, partition: "room", messages: [] }), 201)).toEqual({ pushed: 0 });
  expect(await listed(queue)).toBeUndefined();
  await push(queue, [1]);
  await read(post("push", { queue, partition: "room", messages: [] }), 201);
  expect((await listed(queue))?.partitions).toBe(1);
});

it("checks the names even when there are no messages", async () => {
  expect(await refused(post("push", { queue: "", messages: [] }), ...BAD)).toContain("queue");
  expect(await refused(post("push", { messages: [] }), ...BAD)).toContain("queue");
  expect(await refused(post("push", { queue: "q", partition: "", messages: [] }), ...BAD)).toContain("partition");
});

it("takes null as a payload, and nothing as none", async () => {
  const queue = freshQueue();
  await push(queue, [null]);
  expect((await popOne(queue)).payload).toBeNull();
  expect(await refused(post("push", { queue, messages: [{}] }), ...BAD)).toContain("payload");
});

it("pushes all of a call or nothing", async () => {
  const queue = freshQueue();
  for (const bad of [{}, 1, null, [], "x", { Payload: 1 }]) {
    const error = await refused(post("push", { queue, messages: [{ payload: 1 }, bad, { payload: 3 }] }), ...BAD);
    expect(error).toContain("messages[1]");
  }
  expect(await listed(queue)).toBeUndefined();
  await configure(queue, { maxLength: 2 });
  await refused(post("push", { queue, messages: [{ payload: 1 }, { payload: 2 }, { payload: 3 }] }), 429, "queue_full");
  expect((await depth(queue)).pending).toBe(0);
});

it("ignores fields that it does not know, however deep they go", async () => {
  const queue = freshQueue();
  const deep = `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`;
  const body = `{"later":${deep},"queue":"${queue}","messages":[{"id":7,"payload":1,"headers":${deep}}],"group":""}`;
  expect(await read(post("push", body), 201)).toEqual({ pushed: 1 });
  expect(await popPayloads(queue)).toEqual([1]);
});

it.each(["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "nonsense"])(
  "reads a body whose content-type is %s as JSON",
  async (type) => {
    const queue = freshQueue();
    const body = new TextEncoder().encode(JSON.stringify({ queue, messages: [{ payload: "é" }] }));
    const init = { method: "POST", headers: { "content-type": type }, body };
    expect(await read(call("/api/v1/ephemeral/push", init), 201)).toEqual({ pushed: 1 });
    expect(await popPayloads(queue)).toEqual(["é"]);
  },
);

it("reads a body without content-type, sent in chunks that cut characters in two", async () => {
  const queue = freshQueue();
  const bytes = new TextEncoder().encode(JSON.stringify({ queue, messages: [{ payload: "é漢😀" }] }));
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  expect(await read(call("/api/v1/ephemeral/push", { method: "POST", body }), 201)).toEqual({ pushed: 1 });
  expect(await popPayloads(queue)).toEqual(["é漢😀"]);
});

it("takes 10,000 messages in a call and refuses one more", async () => {
  const queue = freshQueue();
  const messages = Array.from({ length: 10_000 }, (_, i) => ({ payload: i }));
  const over = [...messages, { payload: 10_000 }];
  expect(await refused(post("push", { queue, messages: over }), ...BAD)).toMatch(/messages.*10001.*10000/);
  expect(await listed(queue)).toBeUndefined();
  expect(await read(post("push", { queue, messages }), 201)).toEqual({ pushed: 10_000 });
  const popped = await pop(queue, { batch: 10_000 });
  expect(popped.map(({ payload }) => payload)).toEqual(messages.map(({ payload }) => payload));
});

it("keeps partitions of a queue, and queues, apart", async () => {
  const [one, two] = [freshQueue(), freshQueue()];
  await push(one, ["a"], "x");
  await push(one, ["b"], "y");
  await push(two, ["c"], "x");
  expect(await popPayloads(one, { partition: "y", batch: 9 })).toEqual(["b"]);
  expect(await popPayloads(two, { batch: 9 })).toEqual(["c"]);
  expect(await popPayloads(one, { partition: "x", batch: 9 })).toEqual(["a"]);
});
