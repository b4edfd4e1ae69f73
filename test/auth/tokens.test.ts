import { SignJWT } from "jose";
import { expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { parseKeys } from "../../src/auth/keys.ts";
import { Unauthorized } from "../../src/auth/unauthorized.ts";
import { Verifier } from "../../src/auth/verifier.ts";
import type { Claims } from "../../src/contract/rights.ts";
import { operations } from "../../src/openapi/operations.ts";
import { KEYS } from "./keys.ts";
import { env, keys, mint, nowSeconds, refusedUntouched, send, sign } from "./support.ts";

const POP: Claims = { ephemeral: [{ queue: "presence", partition: "room-*", group: "ui-*", verbs: ["pop", "ack"] }] };
const popPath = (partition: string) => `/api/v1/ephemeral/pop?queue=presence&partition=${partition}&group=ui-1`;

async function mintAt(body: unknown, token: string): Promise<Response> {
  return send({ method: "POST", path: "/api/v1/tokens", token, body });
}

it("mints a token that lets its holder do what it says, and no more", async () => {
  const admin = await mint({ admin: true });
  const response = await mintAt({ claims: POP, expiresInSeconds: 60 }, admin);
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("no-store");
  const { success, result } = await response.json<{
    success: boolean;
    result: { token: string; expiresInSeconds: number };
  }>();
  expect([success, result.expiresInSeconds]).toEqual([true, 60]);
  const { token } = result;
  expect((await send({ path: popPath("room-7"), token })).status).toBe(200);
  await refusedUntouched({ path: popPath("lobby"), token }, 403);
  await refusedUntouched(
    { method: "POST", path: "/api/v1/tokens", token, body: { claims: {}, expiresInSeconds: 1 } },
    403,
  );
  expect(await new Verifier(keys).token(token)).toMatchObject({ claims: POP });
});

it("answers a minted token as the document describes it", async () => {
  const response = await mintAt({ claims: {}, expiresInSeconds: 60 }, await mint({ admin: true }));
  const answer: unknown = await response.json();
  const [described] = operations["POST /api/v1/tokens"]?.answers ?? [];
  expect(z.parse(described?.schema ?? z.never(), answer)).toEqual(answer);
});

it("refuses to mint what it would not take", async () => {
  const admin = await mint({ admin: true });
  for (const [body, says] of [
    [{ claims: { admin: "yes" }, expiresInSeconds: 60 }, "claims.admin"],
    [{ claims: { ephemeral: [{ queue: "a*b", verbs: ["pop"] }] }, expiresInSeconds: 60 }, "claims.ephemeral[0].queue"],
    [{ claims: { queues: [{ queue: "q", verbs: ["purge"] }] }, expiresInSeconds: 60 }, "claims.queues[0].verbs[0]"],
    [{ claims: {}, expiresInSeconds: 0 }, "expiresInSeconds"],
    [{ claims: {} }, "expiresInSeconds"],
    [{ expiresInSeconds: 60 }, "claims"],
    [{ claims: {}, expiresInSeconds: 60, sub: "x" }, "sub"],
  ] as const) {
    const response = await mintAt(body, admin);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(says)]);
  }
});

it("mints nothing while everybody may do everything: it would outlive that", async () => {
  const body = { claims: { admin: true }, expiresInSeconds: 60 };
  const response = await send({ method: "POST", path: "/api/v1/tokens", body }, { AUTH: "off" });
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("AUTH")]);
});

it("lets nobody in while there are no keys", async () => {
  const response = await send({ path: "/metrics", token: await mint({ admin: true }) }, { WAGGLE_KEYS: undefined });
  expect(await response.json()).toMatchObject({
    code: "auth_not_configured",
    error: expect.stringContaining("WAGGLE_KEYS"),
  });
  expect(response.status).toBe(503);
});

it("stops at an unusable WAGGLE_KEYS, even for a health check, and does not give it away", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  for (const path of ["/health", "/metrics"]) {
    const response = await send({ path }, { WAGGLE_KEYS: '{"k1":"dG9wLXNlY3JldA"}' });
    const text = await response.text();
    expect([response.status, text]).toEqual([500, expect.stringContaining("WAGGLE_KEYS")]);
    expect(text).not.toContain("dG9w");
  }
  vi.restoreAllMocks();
});

it("takes the tokens of any JWT library", async () => {
  const [kid = "", bytes = new Uint8Array()] = [...keys][0] ?? [];
  const token = await new SignJWT({ admin: true })
    .setProtectedHeader({ alg: "HS256", kid })
    .setExpirationTime("1m")
    .setIssuedAt()
    .setSubject("ada")
    .sign(bytes);
  expect((await send({ path: "/metrics", token })).status).toBe(200);
});

it("is lenient about clocks by 30 s, both ways", async () => {
  const verifier = new Verifier(keys);
  const exp = nowSeconds() - 20;
  const { expiresAt } = await verifier.token(await sign({ admin: true, exp }));
  expect(expiresAt).toBe((exp + 30) * 1000);
  await verifier.token(await sign({ admin: true, nbf: nowSeconds() + 20, exp: nowSeconds() + 60 }));
  await expect(verifier.token(await sign({ admin: true, exp: nowSeconds() - 31 }))).rejects.toThrow("expired");
  await expect(verifier.token(await sign({ nbf: nowSeconds() + 90, exp: nowSeconds() + 99 }))).rejects.toThrow(
    Unauthorized,
  );
});

it("honours a rotation of keys: the new one first, the old one until its tokens have expired", async () => {
  const { new: added, old } = KEYS;
  const before = parseKeys(JSON.stringify({ old }));
  const between = parseKeys(JSON.stringify({ new: added, old }));
  const after = parseKeys(JSON.stringify({ new: added }));
  const exp = nowSeconds() + 60;
  const oldToken = await sign({ exp }, "JWT", before);
  const newToken = await sign({ exp }, "JWT", between);
  await new Verifier(between).token(oldToken);
  await new Verifier(between).token(newToken);
  await new Verifier(after).token(newToken);
  await expect(new Verifier(after).token(oldToken)).rejects.toThrow("does not have");
  // The kid alone is not believed.
  const swapped = parseKeys(JSON.stringify({ new: old, old: added }));
  await expect(new Verifier(swapped).token(newToken)).rejects.toThrow("another key");
});

it("verifies a token once a minute, and remembers none past its expiry", async () => {
  const verify = vi.spyOn(crypto.subtle, "verify");
  const clock = vi.spyOn(Date, "now");
  try {
    const start = 1_800_000_000_000;
    clock.mockReturnValue(start);
    const verifier = new Verifier(keys);
    const long = await sign({ exp: nowSeconds() + 1_000_000_000 });
    const at = async (ms: number, token: string) => {
      clock.mockReturnValue(start + ms);
      await verifier.token(token);
      return verify.mock.calls.length;
    };
    expect(await at(0, long)).toBe(1);
    expect(await at(59_999, long)).toBe(1);
    expect(await at(60_000, long)).toBe(2);
    expect(await at(60_001, long)).toBe(2);
    clock.mockRestore();
    // A token that has 10 s left of its 30 s of leniency is good now, and not remembered for longer.
    const short = await sign({ exp: nowSeconds() - 20 });
    const { expiresAt } = await verifier.token(short);
    vi.spyOn(Date, "now").mockReturnValue((expiresAt ?? 0) + 1);
    const before = verify.mock.calls.length;
    await verifier.token(short).catch(() => {});
    expect(verify.mock.calls.length).toBe(before + 1);
  } finally {
    vi.restoreAllMocks();
  }
});

it("remembers a bounded number of tokens", async () => {
  const verify = vi.spyOn(crypto.subtle, "verify");
  const verifier = new Verifier(keys);
  const exp = nowSeconds() + 60;
  const tokens = await Promise.all(Array.from({ length: 501 }, (_, sub) => sign({ exp, sub: String(sub) })));
  for (const token of tokens) await verifier.token(token);
  expect(verify).toHaveBeenCalledTimes(501);
  for (const token of tokens.slice(1)) await verifier.token(token);
  expect(verify).toHaveBeenCalledTimes(501);
  await verifier.token(tokens[0] ?? "");
  expect(verify).toHaveBeenCalledTimes(502);
  vi.restoreAllMocks();
});

it("refuses a token that is longer than any header", async () => {
  const token = await sign({ exp: nowSeconds() + 60, sub: "x".repeat(9000) });
  expect((await refusedUntouched({ path: "/metrics", token }, 401)).text).toContain("8192");
});

it("leaves no queue behind where it refuses", async () => {
  const admin = await mint({ admin: true });
  const body = { queue: "never", messages: [{ payload: 1 }] };
  const refused = await mint({ ephemeral: [{ queue: "never", verbs: ["pop"] }] });
  await refusedUntouched({ method: "POST", path: "/api/v1/ephemeral/push", token: refused, body }, 403);
  expect((await send({ method: "POST", path: "/api/v1/ephemeral/push", token: refused, body })).status).toBe(403);
  expect((await send({ method: "POST", path: "/api/v1/ephemeral/push", body })).status).toBe(401);
  const depth = await send({ path: "/api/v1/ephemeral/queues/never/depth", token: admin });
  expect([depth.status, env.AUTH]).toEqual([404, "required"]);
});

it("judges an ack as a whole by each of its ids", async () => {
  const token = await mint({ ephemeral: [{ queue: "acks", partition: "mine", verbs: ["push", "pop", "ack"] }] });
  const path = "/api/v1/ephemeral/push";
  const push = await send({
    method: "POST",
    path,
    token,
    body: { queue: "acks", partition: "mine", messages: [{ payload: 1 }] },
  });
  expect(push.status).toBe(201);
  const popped = await send({ path: "/api/v1/ephemeral/pop?queue=acks&partition=mine", token });
  const { messages } = await popped.json<{ messages: { id: string }[] }>();
  const [message = { id: "" }] = messages;
  const ack = (ids: string[]) => ({
    method: "POST",
    path: "/api/v1/ephemeral/ack",
    token,
    body: { queue: "acks", acks: ids.map((id) => ({ id })) },
  });
  const theirs = message.id.replace(":mine:", ":theirs:");
  expect((await refusedUntouched(ack([message.id, theirs]), 403)).text).toContain('"theirs"');
  const settled = await send(ack(["nonsense", message.id]));
  expect(await settled.json()).toEqual({
    results: [
      { id: "nonsense", outcome: "unknown" },
      { id: message.id, outcome: "acked" },
    ],
  });
});
