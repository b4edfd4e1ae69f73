import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Waggle } from "../../src/client/index.ts";

/** What has been written for another broker of this protocol: only where its client comes from is not the same. */
const RESPONDER = `
  const { messages } = await queen.ephemeral.pop('rpc-requests', { group: 'workers', batch: 10, wait: true })
  for (const m of messages) {
    await queen.ephemeral.push(m.payload.replyTo, [{ squared: m.payload.n ** 2 }])
  }
  await queen.ephemeral.ack('rpc-requests', messages, { group: 'workers' })
`;
const REQUESTER = `
  const inbox = \`rpc-inbox-\${randomUUID()}\`
  await queen.ephemeral.push('rpc-requests', [{ n: 7, replyTo: inbox }])
  const reply = await queen.ephemeral.pop(inbox, { wait: true, timeout: 5000, autoAck: true })
  if (reply.messages.length === 0) throw new Error('no reply within 5 s')
  return reply
`;
const DECLARATION = `
  await queen.ephemeral.configure('presence', {
    maxLength: 1000,        // up to QUEEN_EPHEMERAL_QUEUE_MAX_LENGTH (10,000, also the default)
    maxBytes: 1024 * 1024,  // up to QUEEN_EPHEMERAL_QUEUE_MAX_BYTES (16 MiB, also the default)
    policy: 'dropOldest',   // or 'reject', the default: the push answers 429 queue_full
    ttlSeconds: 30,         // drop anything older, consumed or not
    leaseSeconds: 15,       // default 30
    retryLimit: 3,          // default 5
  })
`;

let workerd: Workerd;
let queen: Waggle;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build") });
  queen = new Waggle(workerd.url);
});
afterAll(() => workerd.stop());

function run<T>(text: string): Promise<T> {
  const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => (...given: unknown[]) => Promise<T>;
  return new AsyncFunction("queen", "randomUUID", text)(queen, () => crypto.randomUUID());
}

it("request and reply", async () => {
  const [, reply] = await Promise.all([run(RESPONDER), run<{ messages: unknown[] }>(REQUESTER)]);
  expect(reply.messages).toMatchObject([{ partition: "Default", attempts: 1, payload: { squared: 49 } }]);
  expect(await queen.ephemeral.depth("rpc-requests", { group: "workers" })).toMatchObject({ pending: 0, bytes: 0 });
});

it("declared options", async () => {
  await run(DECLARATION);
  const { queues } = await queen.ephemeral.queues();
  expect(queues.find(({ queue }) => queue === "presence")).toMatchObject({
    tier: "declared",
    options: {
      maxLength: 1000,
      maxBytes: 1024 * 1024,
      policy: "dropOldest",
      ttlSeconds: 30,
      leaseSeconds: 15,
      retryLimit: 3,
    },
  });
});

it("the other calls answer as the broker does", async () => {
  const { ephemeral } = queen;
  expect(await ephemeral.push("room", [1, null, "x", { a: [true] }], { partition: "a/b:c é" })).toEqual({ pushed: 4 });
  const { queue, messages } = await ephemeral.pop("room", { partition: "a/b:c é", batch: 3, group: "g&h" });
  expect([queue, messages.map(({ payload }) => payload)]).toEqual(["room", [1, null, "x"]]);
  const [first, second, third] = messages;
  const settled = [first?.id ?? "", { ...second, status: "retry" as const, id: second?.id ?? "" }];
  const { results } = await ephemeral.ack("room", settled, { group: "g&h" });
  expect(results.map(({ outcome }) => outcome)).toEqual(["acked", "redelivered"]);
  const failed = await ephemeral.ack("room", [third?.id ?? ""], { group: "g&h", status: "failed" });
  expect(failed.results).toMatchObject([{ outcome: "redelivered" }]);
  expect(await ephemeral.depth("room", { group: "g&h" })).toMatchObject({ group: "g&h", pending: 3 });
  expect(await ephemeral.reset("room")).toEqual({ queue: "room", dropped: 3 });
  expect(await ephemeral.delete("room")).toEqual({ queue: "room", deleted: true, declared: false });
  await expect(ephemeral.depth("room")).rejects.toMatchObject({ code: "ephemeral_queue_not_found", status: 404 });
  await expect(ephemeral.configure("room", { maxLenght: 1 } as object)).rejects.toMatchObject({
    code: "ephemeral_bad_request",
    status: 400,
  });
  await ephemeral.configure("tiny", { maxLength: 1 });
  const full = ephemeral.push("tiny", [1, 2]);
  await expect(full).rejects.toMatchObject({ code: "queue_full", status: 429, retryAfterSeconds: 1 });
  expect(() => ephemeral.push("room", [undefined])).toThrow("a payload of type undefined");
});
