import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, it } from "vitest";
import type { Env } from "../../src/config.ts";
import worker from "../../src/index.ts";
import { setHeld } from "../../src/objects/memory.ts";
import type { Owner } from "../../src/objects/owner.ts";
import {
  call,
  env,
  freshQueue,
  homeOf,
  listed,
  parked,
  pop,
  popPath,
  popPayloads,
  push,
  refused,
  tryPush,
} from "./support.ts";

const CAP = 64 * 1024 * 1024;

/** Passing failures must say so: without a `Retry-After` the common client waits for two minutes. */
async function passing(answer: Promise<Response>, code: string): Promise<string> {
  const response = await answer;
  expect(response.headers.get("retry-after")).toBe("1");
  return refused(Promise.resolve(response), 503, code);
}

/** Makes the isolate look as full as that: memory is counted over all objects in it, and the tests are in it too. */
function fill(bytes: number): void {
  setHeld("a test", bytes);
}

afterEach(() => fill(0));

it("refuses a push past the memory cap, whole, and takes it once there is room", async () => {
  const queue = freshQueue();
  fill(CAP);
  expect(await passing(tryPush(queue, [1, 2]), "ephemeral_unavailable")).toContain("EPHEMERAL_MAX_BYTES");
  expect(await listed(queue)).toBeUndefined();
  fill(0);
  await push(queue, [1, 2]);
  expect(await popPayloads(queue, { batch: 9 })).toEqual([1, 2]);
});

it("refuses a pop that would create a queue, a partition or a group past the cap, and no other", async () => {
  const [known, unknown] = [freshQueue(), freshQueue()];
  await push(known, [1, 2]);
  await pop(known, { group: "g" });
  fill(CAP);
  await passing(call(popPath(unknown)), "ephemeral_unavailable");
  await passing(call(popPath(known, { partition: "new" })), "ephemeral_unavailable");
  await passing(call(popPath(known, { group: "new" })), "ephemeral_unavailable");
  expect(await popPayloads(known, { group: "g" })).toEqual([2]);
  expect(await listed(unknown)).toBeUndefined();
  expect(await listed(known)).toMatchObject({ partitions: 1, groups: 1 });
});

it("refuses to park a pop past the cap", async () => {
  const queue = freshQueue();
  await pop(queue);
  fill(CAP);
  await passing(call(popPath(queue, { wait: true, timeout: 5000 })), "ephemeral_unavailable");
  expect(await pop(queue)).toEqual([]);
});

it("counts what payloads take in memory", async () => {
  const queue = freshQueue();
  // Room for a megabyte, of which 600,000 wide characters would take more, and as many narrow ones less.
  fill(CAP - 1_000_000);
  await passing(tryPush(queue, [`漢${"x".repeat(600_000)}`]), "ephemeral_unavailable");
  await push(queue, ["x".repeat(600_000)]);
  await passing(tryPush(queue, ["x".repeat(600_000)]), "ephemeral_unavailable");
});

it("parks 10,000 pops on an owner and refuses one more", async () => {
  const queue = freshQueue();
  await pop(queue);
  const answers = await runInDurableObject(homeOf(queue), (owner: Owner) => {
    const request = { queue, partition: null, group: "__QUEUE_MODE__", batch: 1, autoAck: false, waitMs: 60_000 };
    const pops = Array.from({ length: 10_000 }, (_, i) => owner.pop({ ...request, waiterId: `waiter-${i}` }));
    return { done: Promise.all(pops).then((all) => all.length) };
  });
  await parked(10_000);
  const error = await passing(call(popPath(queue, { wait: true, timeout: 5000 })), "ephemeral_unavailable");
  expect(error).toContain("EPHEMERAL_MAX_WAITERS");
  // Who does not wait is served as ever.
  expect(await pop(queue, { group: "other" })).toEqual([]);
  await runInDurableObject(homeOf(queue), (owner: Owner) => {
    for (let i = 0; i < 10_000; i++) owner.cancel(`waiter-${i}`);
  });
  await parked(0);
  expect(await answers.done).toBe(10_000);
});

/** An environment whose owners cannot be reached. */
const unreachable = new Proxy({}, { get: () => () => Promise.reject(new Error("the object was reset")) });
const lostEnv: Env = { ...env, OWNER: { idFromName: () => ({}), get: () => unreachable } as unknown as Env["OWNER"] };

it.each([
  ["push", "POST", "/api/v1/ephemeral/push", '{"queue":"q","messages":[{"payload":1}]}'],
  ["pop", "GET", "/api/v1/ephemeral/pop?queue=q", undefined],
  ["ack", "POST", "/api/v1/ephemeral/ack", '{"queue":"q","acks":[{"id":"e:1:p:0"}]}'],
  ["configure", "POST", "/api/v1/ephemeral/configure", '{"queue":"q"}'],
  ["reset", "POST", "/api/v1/ephemeral/reset", '{"queue":"q"}'],
  ["delete", "DELETE", "/api/v1/ephemeral/queue/q", undefined],
  ["queues", "GET", "/api/v1/ephemeral/queues", undefined],
  ["depth", "GET", "/api/v1/ephemeral/queues/q/depth", undefined],
])("answers a %s that its owner could not be asked for with 503 and a reason", async (_, method, path, body) => {
  const init = body === undefined ? { method } : { method, body };
  const request = new Request(`http://waggle${path}`, init);
  const answer = worker.fetch(request, lostEnv, createExecutionContext());
  expect(await passing(answer, "ephemeral_forward_failed")).toContain("the object was reset");
});

it("ends a parked pop whose owner stays away as an empty one, at the end of its time", async () => {
  const request = new Request("http://waggle/api/v1/ephemeral/pop?queue=q&wait=true&timeout=200");
  const response = await worker.fetch(request, lostEnv, createExecutionContext());
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"queue":"q","messages":[]}');
});
