import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { Env } from "../../src/config.ts";
import worker from "../../src/index.ts";
import { addConsumer, call, env, freshQueue, MOUNTS, QUEUES, refused, result } from "./support.ts";

const BELOW_QUEUES: [path: string, ...methods: string[]][] = [
  ["", "GET", "POST"],
  ["/q", "GET", "PATCH", "PUT", "DELETE"],
  ["/q/metrics", "GET"],
  ["/q/purge", "GET", "POST"],
  ["/q/messages", "POST"],
  ["/q/messages/batch", "POST"],
  ["/q/messages/pull", "POST"],
  ["/q/messages/ack", "POST"],
  ["/q/messages/peek", "POST"],
  ["/q/messages/purge", "POST"],
  ["/q/consumers", "GET", "POST"],
  ["/q/consumers/c", "GET", "PUT", "DELETE"],
];
const ROUTES: [path: string, methods: string[]][] = [
  ...MOUNTS.flatMap((mount) => BELOW_QUEUES.map(([path, ...methods]): [string, string[]] => [mount + path, methods])),
  ["/api/v1/manifests", ["POST"]],
  ["/api/v1/bridges", ["GET"]],
  ["/api/v1/bridges/source", ["GET", "PUT", "DELETE"]],
  ["/api/v1/tokens", ["POST"]],
];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** The handler itself, with other bindings than those of this run. */
async function callWith(bindings: Record<string, unknown>, method: string, path: string, body?: string) {
  const ctx = createExecutionContext();
  const init = body === undefined ? { method } : { method, body };
  const response = await worker.fetch(new Request(`http://waggle${path}`, init), { ...env, ...bindings } as Env, ctx);
  await waitOnExecutionContext(ctx);
  return response;
}

it.each(ROUTES)("answers other methods of %s than %j with 405 and what is allowed", async (path, methods) => {
  for (const method of METHODS.filter((one) => !methods.includes(one))) {
    const response = await call(method, path, method === "GET" ? undefined : "{");
    expect((response.headers.get("allow") ?? "").split(", ").sort(), method).toEqual([...methods].sort());
    expect(await refused(Promise.resolve(response), 405, 10405)).toContain(method);
  }
});

it.each([
  "/api/v1/queues/q/nothing",
  "/api/v1/queues/q/messages/nothing",
  "/api/v1/queues/q/consumers/c/d",
  "/api/v1/manifests/x",
  "/api/v1/bridges/a/b",
  "/client/v4",
  "/client/v4/accounts",
  "/client/v4/accounts/a/workers/services/x",
  "/client/v4/user/tokens/verify",
])("answers the unknown path %s in the envelope of Cloudflare's API", async (path) => {
  for (const method of METHODS) await refused(call(method, path), 404, 10404);
});

it.each(ROUTES)("does not serve %s while nobody has decided who may", async (path, methods) => {
  for (const method of methods) {
    for (const AUTH of ["required", undefined]) {
      const body = method === "GET" ? undefined : "{";
      expect(await refused(callWith({ AUTH }, method, path, body), 503, 10106)).toContain("AUTH");
    }
  }
});

describe.each(MOUNTS)("below %s", (mount) => {
  const bodies = BELOW_QUEUES.flatMap(([path, ...methods]) =>
    methods
      .filter((method) => method !== "GET" && method !== "DELETE")
      .map((method) => [method, mount + path] as const),
  );

  it.each(bodies)("%s %s refuses a body that is not JSON, or not UTF-8", async (method, path) => {
    for (const body of ["{", "}", "{}x", "undefined", "'a'", " ", "[1,]"]) {
      expect(await refused(call(method, path, body), 400, 10207), body).toContain("JSON");
    }
    const ctx = createExecutionContext();
    const request = new Request(`http://waggle${path}`, { method, body: new Uint8Array([0x22, 0xff, 0x22]) });
    expect(await refused(worker.fetch(request, env, ctx), 400, 10207)).toContain("UTF-8");
  });

  it.each(bodies)("%s %s refuses a body that is no object", async (method, path) => {
    for (const body of ["[]", "null", "1", '"x"']) await refused(call(method, path, body), 400, 10400);
  });
});

it("refuses a body past the limit", async () => {
  const body = `{"body":"${"x".repeat(16 * 1024 * 1024)}"}`;
  await refused(call("POST", `${QUEUES}/q/messages`, body), 413, 10205);
});

it("refuses a segment that is not percent-encoded UTF-8, or empty", async () => {
  await refused(call("GET", `${QUEUES}/%ff`), 400, 10400);
  await refused(call("GET", `${QUEUES}//metrics`), 400, 10400);
});

it("says that an object cannot be reached, and when to come back", async () => {
  const { queue_id, queue_name } = await freshQueue();
  await addConsumer(queue_id, { type: "http_pull" });
  await result("POST", `${QUEUES}/${queue_id}/messages`, { body: 1 });
  const DURABLE_QUEUE = { ...env.DURABLE_QUEUE, idFromName: () => ({}), get: () => broken };
  for (const [method, path, body] of [
    ["POST", "/messages", '{"body":1}'],
    ["POST", "/messages/pull", "{}"],
    ["POST", "/messages/peek", "{}"],
    ["GET", "/metrics", undefined],
    ["POST", "/purge", '{"delete_messages_permanently":true}'],
  ] as const) {
    const answer = await callWith({ DURABLE_QUEUE }, method, `${QUEUES}/${queue_id}${path}`, body);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await refused(Promise.resolve(answer), 503, 15001)).toContain("on fire");
  }
  // A purge that did not end says so.
  expect(await result("GET", `${QUEUES}/${queue_id}/purge`)).toMatchObject({ completed: "false" });
  // The queue is still shown, and what is wrong with it.
  const shown = await callWith({ DURABLE_QUEUE }, "GET", `${QUEUES}/${queue_id}`);
  expect(await shown.json()).toMatchObject({
    success: true,
    result: { queue_name, status: { partitions: [], unreachable: [{ partition: "Default" }] } },
  });
});

const broken = new Proxy(
  {},
  { get: (_, method) => (method === "then" ? undefined : () => Promise.reject(new Error("the object is on fire"))) },
);

it("answers an error of the broker itself in the same envelope, and logs it", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const DECLARATIONS = {
    getByName() {
      throw new TypeError("a mistake");
    },
  };
  const text = await refused(callWith({ DECLARATIONS }, "GET", QUEUES), 500, 15000);
  expect(text).not.toContain("a mistake");
  expect(logged).toHaveBeenCalled();
  logged.mockRestore();
});

it("names a var that is set wrong", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  for (const [name, value] of [
    ["PLAN", "gold"],
    ["QUEUE_MAX_BYTES", "-1"],
  ] as const) {
    expect(await refused(callWith({ [name]: value }, "GET", QUEUES), 500, 15000)).toContain(name);
  }
  logged.mockRestore();
});
