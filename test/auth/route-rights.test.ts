import { createExecutionContext } from "cloudflare:test";
import { callOf } from "../../src/http/app.ts";
import { expect, it } from "vitest";
import type { Need } from "../../src/auth/need.ts";
import type { Claims } from "../../src/contract/rights.ts";
import type { Route } from "../../src/http/routes.ts";
import { open } from "../../src/http/rules.ts";
import { tables } from "../../src/http/tables.ts";
import { nameOf, otherVerbs, QUEUE, rightClaims, sampleOf } from "./samples.ts";
import { env, keys, mint, nowSeconds, refusedUntouched, send, sign, unsigned, type Sent } from "./support.ts";

/** Every route that is guarded, as it stands in the tables: a new one is among them by itself. */
const ROUTES = tables.flatMap(({ routes }) => routes);
const GUARDED = ROUTES.filter(([, , rule]) => rule !== open).map((route) => [nameOf(route), route] as const);

const EVERYTHING: Claims = { admin: true };
const codeOf = (path: string) => (/^\/(api\/v1\/(queues|manifests|bridges|tokens)|client)/.test(path) ? 10106 : null);

/** What the rule of a route makes of its sample. */
async function needOf(route: Route): Promise<Need> {
  const { method, path, body } = sampleOf(route);
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const params = { queue: QUEUE };
  const request = new Request(`http://waggle${path}`, init);
  const named = route[1].includes(":queue") ? params : {};
  return route[2](callOf(request, named as Record<string, string>, env, createExecutionContext()));
}

async function isLetIn(sent: Sent): Promise<void> {
  const response = await send(sent);
  const text = await response.text();
  expect([401, 403, 503], text).not.toContain(response.status);
}

/** What the routes of durable queues ask for, wherever they are mounted. */
function durable(mount: string): Record<string, string> {
  return {
    [`POST ${mount}/:queue/messages`]: "durable send",
    [`POST ${mount}/:queue/messages/batch`]: "durable send",
    [`POST ${mount}/:queue/messages/pull`]: "durable pull",
    [`POST ${mount}/:queue/messages/ack`]: "durable ack",
    [`POST ${mount}/:queue/messages/peek`]: "durable peek",
    [`GET ${mount}/:queue/metrics`]: "durable metrics",
  };
}

it("has a rule for each route, and leaves nothing open but the health check", () => {
  expect(ROUTES.filter(([, , rule]) => typeof rule !== "function")).toEqual([]);
  expect(ROUTES.filter(([, , rule]) => rule === open).map(nameOf)).toEqual(["GET /health"]);
});

it("compiles no route without a rule", () => {
  // @ts-expect-error A handler is no rule, and there is nothing after it.
  const route: Route = ["GET", "/ruleless", async () => new Response()];
  expect(route).toHaveLength(3);
});

it("asks for less than admin where the contract says so, and nowhere else", async () => {
  const lesser: Record<string, string> = {};
  for (const [name, route] of GUARDED) {
    const need = await needOf(route);
    if (need.of !== "admin") lesser[name] = "verb" in need ? `${need.of} ${need.verb}` : need.of;
  }
  expect(lesser).toEqual({
    "POST /api/v1/ephemeral/push": "ephemeral push",
    "GET /api/v1/ephemeral/pop": "ephemeral pop",
    "GET /api/v1/ephemeral/subscribe": "ephemeral pop",
    "POST /api/v1/ephemeral/ack": "ephemeral ack",
    "GET /api/v1/ephemeral/queues/:queue/depth": "depth",
    "POST /api/v1/tickets": "token",
    "POST /mcp": "token",
    ...durable("/api/v1/queues"),
    ...durable("/client/v4/accounts/:account/queues"),
  });
});

it.each(GUARDED)("%s asks for a token", async (_, route) => {
  const sample = sampleOf(route);
  const { code, text } = await refusedUntouched(sample, 401);
  expect(code).toBe(codeOf(sample.path) ?? "unauthorized");
  expect(text).toContain("Authorization");
});

it.each(GUARDED)("%s refuses a token that is good for nothing, whatever it claims", async (_, route) => {
  const sample = sampleOf(route);
  const exp = nowSeconds() + 60;
  const payload = { ...EVERYTHING, exp };
  const stranger = new Map([["new", crypto.getRandomValues(new Uint8Array(32))]]);
  const [kid = ""] = keys.keys();
  const good = await sign(payload);
  const bad: [what: string, token: string, says: string][] = [
    ["garbage", "garbage", "cannot be read"],
    ["garbage in three parts", "a.b.c", "cannot be read"],
    ["expired", await sign({ ...EVERYTHING, exp: nowSeconds() - 31 }), "expired"],
    ["without expiry", await sign(EVERYTHING), "exp"],
    ["not valid yet", await sign({ ...payload, nbf: nowSeconds() + 3600 }), "not valid yet"],
    ["of another key", await sign(payload, "JWT", stranger), "another key"],
    ["of an unknown key", await sign(payload, "JWT", new Map([["lost", new Uint8Array(32)]])), "does not have"],
    ["changed", good.replace(/\.[^.]*\./, `.${unsigned({}, payload).split(".")[1]}x.`), "another key"],
    ["alg none", unsigned({ alg: "none", kid }, payload), "HS256"],
    ["alg none, with a signature", unsigned({ alg: "none", kid }, payload, good.split(".")[2]), "HS256"],
    ["another alg", unsigned({ alg: "HS512", kid }, payload, good.split(".")[2]), "HS256"],
    ["a ticket", await sign({ jti: "x", exp }, "ticket+jwt"), "no token"],
    ["a misspelled claim", await sign({ ...payload, admn: true }), "admn"],
    ["of another audience", await sign({ ...payload, aud: "somebody else" }), "aud"],
  ];
  for (const [what, token, says] of bad) {
    const { code, text } = await refusedUntouched({ ...sample, token }, 401);
    expect(code, what).toBe(codeOf(sample.path) ?? "unauthorized");
    expect(text, what).toContain(says);
  }
  for (const authorization of ["Bearer", "Basic dTpw", `Token ${good}`, good, `Bearer ${good} x`]) {
    await refusedUntouched({ ...sample, headers: { authorization } }, 401);
  }
});

it.each(GUARDED)(
  "%s refuses a token of another queue or verb, and takes one that is confined to it",
  async (_, route) => {
    const sample = sampleOf(route);
    const need = await needOf(route);
    const strangers: Claims[] = [
      {},
      ...["other", `${QUEUE}-2`, "ord"].map((queue) =>
        need.of === "admin" ? otherVerbs(need, queue) : rightClaims(need, queue),
      ),
      otherVerbs(need, QUEUE),
      otherVerbs(need, "*"),
    ];
    for (const claims of strangers) {
      const token = await mint(claims);
      if (need.of === "token") {
        await isLetIn({ ...sample, token });
        continue;
      }
      const { code, text } = await refusedUntouched({ ...sample, token }, 403);
      expect(code).toBe(codeOf(sample.path) ?? "forbidden");
      expect(text).toContain(need.of === "depth" ? "depth" : need.verb);
      if (need.queue !== null) expect(text).toContain(JSON.stringify(QUEUE));
    }
    for (const claims of [rightClaims(need, QUEUE), EVERYTHING])
      await isLetIn({ ...sample, token: await mint(claims) });
    if (need.of === "admin" || need.of === "token") return;
    for (const queue of ["*", "ord*"]) await isLetIn({ ...sample, token: await mint(rightClaims(need, queue)) });
  },
);
