import { expect, it } from "vitest";
import { mint, nowSeconds, refusedUntouched, send, sign, type Sent } from "./support.ts";

const POP = "/api/v1/ephemeral/pop?queue=expiring&partition=p&group=g";
const WAITING_POP: Sent = { path: `${POP}&wait=true&timeout=20000` };
const PULL: Sent = {
  method: "POST",
  path: "/api/v1/queues/expiring/messages/pull",
  body: { batch_size: 10, wait_ms: 20_000 },
};

/** A token of which the leniency for clocks, too, is over within 1 to 2 s; and when that is. */
async function expiring(): Promise<{ token: string; expiresAt: number }> {
  const exp = nowSeconds() - 28;
  return { token: await sign({ admin: true, exp }), expiresAt: (exp + 30) * 1000 };
}

async function post(path: string, body: object): Promise<void> {
  const response = await send({ method: "POST", path, token: await mint({ admin: true }), body });
  expect(response.ok, await response.text()).toBe(true);
}

/** Calls with a token that expires meanwhile: the answer comes when it does. */
async function answered(call: Sent): Promise<unknown> {
  const { token, expiresAt } = await expiring();
  const response = await send({ ...call, token });
  const late = Date.now() - expiresAt;
  expect(late).toBeGreaterThanOrEqual(-50);
  expect(late).toBeLessThan(5000);
  expect(response.status).toBe(200);
  const answer: unknown = await response.json();
  await refusedUntouched({ ...call, token }, 401);
  return answer;
}

it("a pop waits no longer than its token is good, and ends as at the end of its time", async () => {
  expect(await answered(WAITING_POP)).toEqual({ queue: "expiring", messages: [] });
  await post("/api/v1/ephemeral/push", { queue: "expiring", partition: "p", messages: [{ payload: 1 }] });
  const popped = await send({ path: POP, token: await mint({ admin: true }) });
  expect(await popped.json()).toMatchObject({ messages: [{ payload: 1, attempts: 1 }] });
});

it("a pop of any partition, too", async () => {
  const path = WAITING_POP.path.replace("&partition=p", "");
  expect(await answered({ path })).toEqual({ queue: "expiring", messages: [] });
});

it("a pull from a durable queue waits no longer either", async () => {
  await post("/api/v1/queues", { queue_name: "expiring" });
  await post("/api/v1/queues/expiring/consumers", { type: "http_pull" });
  expect(await answered(PULL)).toMatchObject({ success: true, result: { messages: [], message_backlog_count: 0 } });
});

it("nor does a look at the overview", async () => {
  const path = "/api/v1/system/overview";
  const { version } = await (await send({ path, token: await mint({ admin: true }) })).json<{ version: string }>();
  const { token, expiresAt } = await expiring();
  const overview = await send({ path: `${path}?after=${version}&waitMs=20000`, token });
  expect(Date.now()).toBeLessThan(expiresAt + 5000);
  expect(await overview.json()).toMatchObject({ version });
});

it("a wait that ends before its token is as long as it was, and gets what comes meanwhile", async () => {
  const token = await sign({ admin: true, exp: nowSeconds() });
  const started = Date.now();
  const short = await send({ path: WAITING_POP.path.replace("20000", "100"), token });
  expect(Date.now() - started).toBeLessThan(10_000);
  expect(await short.json()).toEqual({ queue: "expiring", messages: [] });
  const waiting = send({ ...WAITING_POP, token });
  await post("/api/v1/ephemeral/push", { queue: "expiring", partition: "p", messages: [{ payload: 2 }] });
  expect(await (await waiting).json()).toMatchObject({ messages: [{ payload: 2 }] });
});
