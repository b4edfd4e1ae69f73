import { createExecutionContext, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { callOf } from "../../src/http/app.ts";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { popNeed } from "../../src/auth/need.ts";
import { TICKET_TYPE } from "../../src/auth/verifier.ts";
import { MAX_TICKETS } from "../../src/contract/limits.ts";
import { admit, claimsOf } from "../../src/http/gate.ts";
import type { Call } from "../../src/http/routes.ts";
import { anyToken, open, orTicket } from "../../src/http/rules.ts";
import { tables } from "../../src/http/tables.ts";
import { nameOf, sampleOf } from "./samples.ts";
import { env, mint, nowSeconds, refusedUntouched, send, sign, watched } from "./support.ts";

const declarations = env.DECLARATIONS.getByName("declarations");

// Files share their objects, and others buy tickets, too.
beforeEach(async () => {
  await runInDurableObject(declarations, (_, { storage }) => storage.sql.exec("DELETE FROM tickets"));
});

afterEach(() => void vi.restoreAllMocks());

interface Ticket {
  ticket: string;
  expiresInSeconds: number;
}

async function buy(token: string): Promise<Ticket> {
  const response = await send({ method: "POST", path: "/api/v1/tickets", token });
  expect(response.status).toBe(201);
  expect(response.headers.get("cache-control")).toBe("no-store");
  return response.json<Ticket>();
}

/** A call of a route that takes tickets. */
function callWith(query: string, headers: Record<string, string> = {}, vars: object = {}): Call {
  const request = new Request(`http://waggle/subscribe?${query}`, { headers });
  return callOf(request, {}, { ...env, ...vars }, createExecutionContext());
}

function waiting(): Promise<number> {
  return runInDurableObject(declarations, (_, { storage }) =>
    Number(storage.sql.exec("SELECT COUNT(*) AS count FROM tickets").one()["count"]),
  );
}

const rule = orTicket(() => popNeed({ queue: "presence", partition: "room-7", group: "ui-1" }));
const POP = { ephemeral: [{ queue: "presence", partition: "room-*", verbs: ["pop"] as "pop"[] }] };

it("exchanges a token for a ticket, and a ticket for the token's claims and expiry", async () => {
  const { ticket, expiresInSeconds } = await buy(await mint(POP, 600));
  expect(expiresInSeconds).toBe(30);
  const call = callWith(`queue=presence&ticket=${ticket}`);
  await admit(call, rule);
  // The handler hears what the gate has heard, although the ticket is used up by then.
  const { claims, expiresAt } = await claimsOf(call, { mayTicket: true });
  expect(claims).toEqual(POP);
  expect(Math.abs((expiresAt ?? 0) / 1000 - nowSeconds() - 630)).toBeLessThanOrEqual(2);
  expect(await waiting()).toBe(0);
});

it("refuses a ticket that was used", async () => {
  const { ticket } = await buy(await mint(POP));
  await admit(callWith(`ticket=${ticket}`), rule);
  await expect(admit(callWith(`ticket=${ticket}`), rule)).rejects.toMatchObject({ code: "unauthorized" });
});

it("lets one of many who come at once with the same ticket pass", async () => {
  const { ticket } = await buy(await mint(POP));
  const passed = await Promise.allSettled(Array.from({ length: 20 }, () => admit(callWith(`ticket=${ticket}`), rule)));
  expect(passed.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

it("confines a ticket to what its token may", async () => {
  const { ticket } = await buy(await mint({ ephemeral: [{ queue: "presence", partition: "lobby", verbs: ["pop"] }] }));
  await expect(admit(callWith(`ticket=${ticket}`), rule)).rejects.toMatchObject({ code: "forbidden" });
});

it("refuses a ticket that has expired, whoever looks first", async () => {
  const { ticket } = await buy(await mint(POP));
  await runInDurableObject(declarations, (_, { storage }) =>
    storage.sql.exec("UPDATE tickets SET expires_at = ?", Date.now()),
  );
  await expect(admit(callWith(`ticket=${ticket}`), rule)).rejects.toMatchObject({ code: "unauthorized" });
  expect(await waiting()).toBe(0);
  const { vars, touched } = watched();
  const old = await sign({ jti: "x", exp: nowSeconds() - 1 }, TICKET_TYPE);
  await expect(admit(callWith(`ticket=${old}`, {}, vars), rule)).rejects.toThrow("expired");
  expect(touched()).toEqual([]);
});

it("refuses a ticket whose token has expired meanwhile", async () => {
  const { ticket } = await buy(await sign({ ...POP, exp: nowSeconds() - 20 }));
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 15_000);
  await expect(admit(callWith(`ticket=${ticket}`), rule)).rejects.toMatchObject({ code: "unauthorized" });
});

it("refuses what was never a ticket, and asks no object about it", async () => {
  const { vars, touched } = watched();
  const exp = nowSeconds() + 30;
  const stranger = new Map([["new", new Uint8Array(32)]]);
  for (const ticket of [
    "",
    "x",
    crypto.randomUUID(),
    await sign({ jti: "x", exp }, TICKET_TYPE, stranger),
    await sign({ jti: "x", exp }),
    await sign({ exp }, TICKET_TYPE),
    await mint({ admin: true }),
  ]) {
    await expect(admit(callWith(`ticket=${ticket}`, {}, vars), rule)).rejects.toMatchObject({ code: "unauthorized" });
  }
  expect(touched()).toEqual([]);
});

it("prefers a token to a ticket, which stays good", async () => {
  const { ticket } = await buy(await mint(POP));
  const headers = { authorization: `Bearer ${await mint({ admin: true })}` };
  expect((await claimsOf(callWith(`ticket=${ticket}`, headers), { mayTicket: true })).claims).toEqual({ admin: true });
  await admit(callWith(`ticket=${ticket}`), rule);
});

it("takes tickets on no route that was not made for them", async () => {
  const { ticket } = await buy(await mint({ admin: true }));
  const routes = tables.flatMap(({ routes: own }) => own).filter(([, , own]) => own !== open && own.mayTicket !== true);
  for (const route of routes) {
    const { path, ...sample } = sampleOf(route);
    const sent = { ...sample, path: `${path}${path.includes("?") ? "&" : "?"}ticket=${ticket}` };
    expect((await refusedUntouched(sent, 401)).text, nameOf(route)).toContain("token");
  }
  // Nor is it a token.
  await refusedUntouched({ method: "POST", path: "/api/v1/tickets", token: ticket }, 401);
  await expect(admit(callWith(`ticket=${ticket}`), anyToken)).rejects.toMatchObject({ code: "unauthorized" });
});

it("forgets a ticket that nobody comes for", async () => {
  await buy(await mint(POP));
  await buy(await mint(POP));
  expect(await waiting()).toBe(2);
  expect(await runInDurableObject(declarations, (_, { storage }) => storage.getAlarm())).not.toBeNull();
  await runInDurableObject(declarations, (_, { storage }) => {
    storage.sql.exec("UPDATE tickets SET expires_at = ?", Date.now() - 1);
    storage.kv.put("wake:tickets", Date.now() - 1);
  });
  await runDurableObjectAlarm(declarations);
  expect(await waiting()).toBe(0);
  expect(await runInDurableObject(declarations, (_, { storage }) => storage.getAlarm())).toBeNull();
});

it("sells no more tickets than it can keep", async () => {
  await runInDurableObject(declarations, (_, { storage }) => {
    storage.sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MAX_TICKETS})
        INSERT INTO tickets SELECT 't' || i, '{}', ? FROM n`,
      Date.now() + 20_000,
    );
  });
  const response = await send({ method: "POST", path: "/api/v1/tickets", token: await mint(POP) });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  await runInDurableObject(declarations, (_, { storage }) =>
    storage.sql.exec("UPDATE tickets SET expires_at = ?", Date.now()),
  );
  await buy(await mint(POP));
});

it("asks for no ticket while everybody may do everything, and sells one all the same", async () => {
  const response = await send({ method: "POST", path: "/api/v1/tickets" }, { AUTH: "off" });
  expect(await response.json()).toEqual({ ticket: expect.any(String), expiresInSeconds: 30 });
  expect(await waiting()).toBe(0);
  const call = callWith("ticket=anything", {}, { AUTH: "off" });
  expect(await claimsOf(call, { mayTicket: true })).toEqual({ claims: { admin: true }, expiresAt: null });
});
