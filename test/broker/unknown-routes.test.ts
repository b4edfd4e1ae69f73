import { expect, it } from "vitest";
import { call, list, refused } from "./support.ts";

const ROUTES: [string, string][] = [
  ["POST", "/api/v1/ephemeral/push"],
  ["GET", "/api/v1/ephemeral/pop"],
  ["POST", "/api/v1/ephemeral/ack"],
  ["POST", "/api/v1/ephemeral/configure"],
  ["POST", "/api/v1/ephemeral/reset"],
  ["DELETE", "/api/v1/ephemeral/queue/q"],
  ["GET", "/api/v1/ephemeral/queues"],
  ["GET", "/api/v1/ephemeral/queues/q/depth"],
  ["DELETE", "/api/v1/ephemeral/queues/q/groups/g"],
  ["GET", "/api/v1/system/owners"],
  ["GET", "/health"],
  ["GET", "/metrics"],
  ["POST", "/api/v1/tickets"],
];

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"];

it.each(ROUTES)("answers every method but %s of %s with 405 and what is allowed", async (allowed, path) => {
  for (const method of METHODS) {
    if (method === allowed) continue;
    const response = await call(`${path}?queue=q`, { method });
    expect(response.headers.get("allow"), method).toBe(allowed);
    await refused(Promise.resolve(response), 405, "method_not_allowed");
  }
  const head = await call(path, { method: "HEAD" });
  expect([head.status, head.headers.get("allow")]).toEqual([405, allowed]);
  expect((await list()).count).toBe(0);
});

it.each(ROUTES)("answers a wrong method of %s %s so, whatever its body is", async (allowed, path) => {
  const method = allowed === "POST" ? "PUT" : "POST";
  await refused(call(path, { method, body: "{" }), 405, "method_not_allowed");
});

it.each([
  "/",
  "//",
  "/api",
  "/api/v1/ephemeral",
  "/api/v1/ephemeral/",
  "/api/v1/ephemeral/pus",
  "/api/v1/ephemeral/pushes",
  "/api/v1/ephemeral/push/q",
  "/api/v1/ephemeral/PUSH",
  "/api/v2/ephemeral/push",
  "/api/v1/ephemeral/queue/q/depth",
  "/api/v1/ephemeral/queues/q",
  "/api/v1/ephemeral/queues/q/groups",
  "/api/v1/ephemeral/queues/q/groups/g/h",
  "/api/v1/ephemeral/queues/a/b/depth",
  "/api/v1/ephemeral/queue/a/b",
  "/api/v1/ephemeral/%70op%00",
  "/healthz",
  "/health/x",
  "/%",
  "/%E0%A4%A",
  `/${"x".repeat(5000)}`,
  "/favicon.ico",
])("answers %j with 404 and the code not_found, for every method", async (path) => {
  for (const method of METHODS) await refused(call(path, { method }), 404, "not_found");
});
