import { createExecutionContext } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import worker from "../../src/index.ts";
import { tables } from "../../src/http/tables.ts";
import { sampleOf } from "./samples.ts";
import { env, mint, send, watched, type Sent } from "./support.ts";

const ORIGIN = "https://app.example";
const LISTED = { CORS_ORIGINS: `${ORIGIN},http://localhost:5173` };
const ROUTES = tables.flatMap(({ routes }) => routes);
const PATHS = [...new Set(ROUTES.map((route) => sampleOf(route).path))];

function methodsAt(path: string): string[] {
  return [...new Set(ROUTES.filter((route) => sampleOf(route).path === path).map(([method]) => method))].sort();
}

function preflightOf(path: string, origin: string, vars: object): Promise<Response> {
  const headers = {
    origin,
    "access-control-request-method": "PUT",
    "access-control-request-headers": "authorization",
  };
  return send({ method: "OPTIONS", path, headers }, { ...watched().vars, ...vars });
}

function allowHeaders({ headers }: Response): string[] {
  return [...headers.keys()].filter((name) => name.startsWith("access-control-"));
}

const from = (sent: Sent, origin = ORIGIN): Sent => ({ ...sent, headers: { ...sent.headers, origin } });

it.each(PATHS)("answers a preflight of %s without a token, from the table of routes", async (path) => {
  for (const vars of [LISTED, { CORS_ORIGINS: "*" }]) {
    const response = await preflightOf(path, ORIGIN, vars);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    const { headers } = response;
    expect(headers.get("access-control-allow-origin")).toBe(vars === LISTED ? ORIGIN : "*");
    expect((headers.get("access-control-allow-methods") ?? "").split(", ").sort()).toEqual(methodsAt(path));
    expect(headers.get("access-control-allow-headers")).toBe("authorization, content-type, mcp-protocol-version");
    expect(Number(headers.get("access-control-max-age"))).toBeGreaterThanOrEqual(600);
    expect(headers.get("access-control-allow-credentials")).toBeNull();
    expect(headers.get("vary")).toBe(vars === LISTED ? "Origin" : null);
  }
});

it.each(["https://evil.example", "http://app.example", "https://app.example:8443", "https://app.example.evil", "null"])(
  "gives the foreign origin %s no allow headers",
  async (origin) => {
    const asked = await preflightOf("/api/v1/ephemeral/push", origin, LISTED);
    expect([asked.status, allowHeaders(asked), asked.headers.get("vary")]).toEqual([204, [], "Origin"]);
    const token = await mint({ admin: true });
    const answered = await send(from({ path: "/api/v1/ephemeral/queues", token }, origin), LISTED);
    expect([answered.status, allowHeaders(answered), answered.headers.get("vary")]).toEqual([200, [], "Origin"]);
  },
);

it("gives nobody allow headers while no origin is listed", async () => {
  for (const vars of [{}, { CORS_ORIGINS: "" }]) {
    const asked = await preflightOf("/api/v1/ephemeral/push", ORIGIN, vars);
    expect([asked.status, allowHeaders(asked), asked.headers.get("vary")]).toEqual([204, [], null]);
    const answered = await send(from({ path: "/health" }), vars);
    expect([answered.status, allowHeaders(answered), answered.headers.get("vary")]).toEqual([200, [], null]);
  }
});

/** An answer of every kind. */
const ANSWERS: [what: string, sent: Sent, status: number][] = [
  ["an open route", { path: "/health" }, 200],
  ["a token that is missing", { path: "/api/v1/ephemeral/queues" }, 401],
  ["a token that is missing, of durable queues", { path: "/api/v1/queues" }, 401],
  ["a path that is unknown", { path: "/nothing" }, 404],
  ["a method that is wrong", { method: "PUT", path: "/health" }, 405],
  ["an OPTIONS that is no preflight", { method: "OPTIONS", path: "/health" }, 405],
  ["a name that is empty", { path: "/api/v1/ephemeral/queues//depth" }, 400],
];

it.each(ANSWERS)("lets a listed page read %s", async (_, sent, status) => {
  const response = await send(from(sent), LISTED);
  expect(response.status).toBe(status);
  expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  expect(response.headers.get("access-control-expose-headers")).toBe("retry-after");
  expect(response.headers.get("vary")).toBe("Origin");
});

it("says to caches that an answer depends on the origin even when none asked", async () => {
  const response = await send({ path: "/health" }, LISTED);
  expect([allowHeaders(response), response.headers.get("vary")]).toEqual([[], "Origin"]);
});

it("lets every page read every answer with *", async () => {
  const token = await mint({ admin: true });
  for (const sent of [from({ path: "/metrics", token }), from({ path: "/metrics" }), { path: "/health" }]) {
    const response = await send(sent, { CORS_ORIGINS: "*" });
    expect([response.headers.get("access-control-allow-origin"), response.headers.get("vary")]).toEqual(["*", null]);
    expect(response.headers.get("access-control-expose-headers")).toBe("retry-after");
  }
});

it("lets a listed page read a refusal of a queue, and when to come back", async () => {
  const token = await mint({ admin: true });
  const post = (verb: string, body: unknown) => ({ method: "POST", path: `/api/v1/ephemeral/${verb}`, token, body });
  await send(post("configure", { queue: "full", options: { maxLength: 1 } }));
  const pushed = await send(from(post("push", { queue: "full", messages: [{ payload: 1 }, { payload: 2 }] })), LISTED);
  expect(pushed.status).toBe(429);
  expect(pushed.headers.get("retry-after")).toBe("1");
  expect(pushed.headers.get("access-control-allow-origin")).toBe(ORIGIN);
});

it("lets a listed page read an answer that takes its time", async () => {
  const wait = vi.spyOn(scheduler, "wait").mockResolvedValue(undefined);
  const ctx = createExecutionContext();
  const path = "/api/v1/ephemeral/pop?queue=slow&wait=true&timeout=16000";
  const headers = { origin: ORIGIN, authorization: `Bearer ${await mint({ admin: true })}` };
  const response = await worker.fetch(new Request(`http://waggle${path}`, { headers }), { ...env, ...LISTED }, ctx);
  wait.mockRestore();
  expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  expect(response.headers.get("vary")).toBe("Origin");
  const reader = response.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(" ");
  await reader?.cancel();
});

it("names a CORS_ORIGINS that cannot be read", async () => {
  const asked = await preflightOf("/health", ORIGIN, { CORS_ORIGINS: "app.example" });
  expect([asked.status, await asked.text()]).toEqual([500, expect.stringContaining("CORS_ORIGINS")]);
});
