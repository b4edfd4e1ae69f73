import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import type { Env } from "../../src/config.ts";
import worker from "../../src/index.ts";
import { env, list, refused } from "./support.ts";

/** The handler itself, with other vars than those of this run. */
async function callWith(vars: Record<string, unknown>, method: string, path: string, body?: string): Promise<Response> {
  const ctx = createExecutionContext();
  const init = body === undefined ? { method } : { method, body };
  const response = await worker.fetch(new Request(`http://waggle${path}`, init), { ...env, ...vars } as Env, ctx);
  await waitOnExecutionContext(ctx);
  return response;
}

const ROUTES: [string, string, string?][] = [
  ["POST", "/api/v1/ephemeral/push", '{"queue":"q","messages":[{"payload":1}]}'],
  ["GET", "/api/v1/ephemeral/pop?queue=q"],
  ["POST", "/api/v1/ephemeral/ack", '{"queue":"q","acks":[]}'],
  ["POST", "/api/v1/ephemeral/configure", '{"queue":"q"}'],
  ["POST", "/api/v1/ephemeral/reset", '{"queue":"q"}'],
  ["DELETE", "/api/v1/ephemeral/queue/q"],
  ["GET", "/api/v1/ephemeral/queues"],
  ["GET", "/api/v1/ephemeral/queues/q/depth"],
  ["DELETE", "/api/v1/ephemeral/queues/q/groups/g"],
  ["GET", "/api/v1/system/owners"],
  ["GET", "/metrics"],
  ["POST", "/api/v1/tickets"],
];

it.each(ROUTES)("does not serve %s %s while nobody has decided who may", async (method, path, body) => {
  const error = await refused(callWith({ AUTH: "required" }, method, path, body), 503, "auth_not_configured");
  expect(error).toContain("AUTH");
  // The default, too.
  await refused(callWith({ AUTH: undefined }, method, path, body), 503, "auth_not_configured");
  expect((await list()).count).toBe(0);
});

it.each(ROUTES)("refuses %s %s before it looks at what is asked for", async (method, path) => {
  await refused(
    callWith({ AUTH: "required" }, method, path.replace("=q", "=%ff"), method === "POST" ? "{" : undefined),
    503,
    "auth_not_configured",
  );
});

it("serves everybody once AUTH is off", async () => {
  const response = await callWith({ AUTH: "off" }, "GET", "/api/v1/ephemeral/queues");
  expect(response.status).toBe(200);
});

it("answers a health check whatever AUTH says, and wakes no owner for it", async () => {
  const OWNER = {
    idFromName() {
      throw new Error("an owner was asked");
    },
  };
  for (const AUTH of ["required", "off", undefined]) {
    const response = await callWith({ AUTH, OWNER, OWNERS: "3" }, "GET", "/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: "ok", owners: 3 });
  }
});

it.each([
  ["AUTH", "on"],
  ["AUTH", ""],
  ["OWNERS", "eight"],
  ["OWNERS", 0],
  ["EPHEMERAL_MAX_BYTES", "-1"],
  ["EPHEMERAL_MAX_WAITERS", "1.5"],
  ["EPHEMERAL_QUEUE_MAX_BYTES", ""],
  ["EPHEMERAL_QUEUE_MAX_LENGTH", "10k"],
  ["EPHEMERAL_LEASE_S", "0"],
  ["EPHEMERAL_RETRY_LIMIT", "-1"],
  ["EPHEMERAL_IMPLICIT_IDLE_S", "0"],
  ["EPHEMERAL_GROUP_IDLE_S", "soon"],
  ["POP_TIMEOUT_MS", "300001"],
])("stops at the first request with an error that names the var when %s is %j", async (name, value) => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  for (const [method, path, body] of [...ROUTES, ["GET", "/health"] as const]) {
    const error = await refused(callWith({ AUTH: "off", [name]: value }, method, path, body), 500, "bad_configuration");
    expect(error).toContain(name);
    expect(error).toContain(JSON.stringify(value));
  }
  logged.mockRestore();
  expect((await list()).count).toBe(0);
});
