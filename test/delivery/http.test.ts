import { afterEach, expect, it, vi } from "vitest";
import type { Verdict } from "../../src/delivery/batch.ts";
import { deliverToHttp } from "../../src/delivery/http.ts";
import type { Draft } from "../../src/durable/content.ts";
import { SENT_AT, stored, words } from "./support.ts";

const encoder = new TextEncoder();
const SECRET = "a shared secret";

/** Answers every request in turn, an error by a failure; the last one again and again. */
function consumer(...answers: (Response | Error | (() => Response))[]) {
  const requests: { request: Request; body: string }[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    requests.push({ request, body: await request.clone().text() });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return typeof answer === "function" ? answer() : (answer ?? new Response());
  });
  return requests;
}

let number = 0;

/** A consumer that nothing is known of. */
function freshUrl(): string {
  return `https://consumer-${number++}.example/orders?token=t`;
}

function deliver(drafts: Draft[] = [{ body: 0 }, { body: 1 }], url = freshUrl()): Promise<Verdict> {
  const metrics = { count: 2, bytes: 2, oldestAt: SENT_AT };
  return deliverToHttp({ url, secret: SECRET }, { queue: "orders", metrics, messages: stored(drafts) });
}

/** The signature as a receiver checks it, by the contract alone. */
async function expected(time: string, body: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(SECRET), algorithm, false, ["sign"]);
  const digest = await crypto.subtle.sign("HMAC", key, encoder.encode(`${time}.${body}`));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const lost = Object.assign(new Error("Network connection lost."), { retryable: true });

afterEach(() => {
  vi.restoreAllMocks();
});

it("posts the batch as JSON, signed", async () => {
  const requests = consumer(new Response(null, { status: 204 }));
  const verdict = await deliver([
    { body: { total: 1.5 } },
    { body: 'with "quotes"\n', contentType: "text" },
    { body: new Uint8Array([1, 2, 255]), contentType: "bytes" },
    { body: new Date(5), contentType: "v8" },
  ]);
  expect(words(verdict)).toEqual(["ack", "ack", "ack", "ack"]);
  const [{ request, body } = { request: new Request("http://none"), body: "" }] = requests;
  expect(request.method).toBe("POST");
  expect(request.redirect).toBe("manual");
  expect(request.headers.get("content-type")).toBe("application/json");
  const [, time = "", digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(request.headers.get("waggle-signature") ?? "") ?? [];
  expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(10);
  expect(digest).toBe(await expected(time, body));
  expect(JSON.parse(body)).toEqual({
    queue: "orders",
    messages: [
      { id: "message-0", timestamp_ms: SENT_AT, attempts: 1, content_type: "json", body: { total: 1.5 } },
      { id: "message-1", timestamp_ms: SENT_AT + 1, attempts: 2, content_type: "text", body: 'with "quotes"\n' },
      { id: "message-2", timestamp_ms: SENT_AT + 2, attempts: 3, content_type: "bytes", body: "AQL/" },
      { id: "message-3", timestamp_ms: SENT_AT + 3, attempts: 4, content_type: "v8", body: expect.any(String) },
    ],
  });
});

it("keeps the digits of a JSON body", async () => {
  const requests = consumer(new Response());
  const body = encoder.encode('{"n":12345678901234567890,"x":1.0}');
  const [message] = stored([{ body: 0 }]);
  if (message === undefined) throw new Error("no message");
  const metrics = { count: 1, bytes: 1, oldestAt: null };
  await deliverToHttp({ url: freshUrl(), secret: SECRET }, { queue: "q", metrics, messages: [{ ...message, body }] });
  expect(requests[0]?.body).toContain('"body":{"n":12345678901234567890,"x":1.0}');
});

it.each([
  ["nothing", null],
  ["no JSON", "OK"],
  ["an empty object", "{}"],
  ["an empty list", '{"retries":[]}'],
])("acks all after 200 and %s", async (_, body) => {
  consumer(new Response(body));
  expect(await deliver()).toEqual({ kind: "done", decisions: [{ kind: "ack" }, { kind: "ack" }], error: null });
});

it("retries what the answer names", async () => {
  consumer(() => Response.json({ retries: [{ id: "message-1", delay_seconds: 86_400 }] }, { status: 202 }));
  expect(words(await deliver())).toEqual(["ack", 86_400]);
  consumer(() => Response.json({ retries: [{ id: "message-0" }] }));
  expect(words(await deliver())).toEqual(["retry", "ack"]);
});

it.each([
  ['"ok"', "must be an object"],
  ['{"retry":[]}', 'unknown option "retry"'],
  ['{"retries":[{"id":"message-7"}]}', "retries[0].id is of no message"],
  ['{"retries":[{"id":"message-0","delay_seconds":86401}]}', "retries[0].delay_seconds must be at most 86400"],
  ['{"retries":[{"id":"message-0","delay_seconds":-1}]}', "retries[0].delay_seconds must be at least 0"],
  ['{"retries":["message-0"]}', "retries[0] must be an object"],
  ["x".repeat(300_000), "longer than 262144 bytes"],
])("retries the batch after the answer %.40s, and says why", async (body, problem) => {
  consumer(new Response(body));
  const verdict = await deliver();
  expect(words(verdict)).toEqual(["retry", "retry"]);
  expect(verdict).toHaveProperty("error", expect.stringContaining(problem));
});

it.each([
  [500, "", "retry"],
  [503, "120", 120],
  [429, "86400", 86_400],
  [503, "86401", "retry"],
  [503, "1.5", "retry"],
  [503, "Wed, 21 Oct 2026 07:28:00 GMT", "retry"],
  [404, "0", 0],
])("retries the batch after %i with retry-after %s", async (status, after, wanted) => {
  consumer(new Response("no", { status, headers: { "retry-after": after } }));
  const verdict = await deliver();
  expect(words(verdict)).toEqual([wanted, wanted]);
  expect(verdict).toHaveProperty("error", `the consumer answered ${status}`);
});

it("does not follow redirects", async () => {
  const requests = consumer(new Response(null, { status: 307, headers: { location: "https://elsewhere.example/" } }));
  const verdict = await deliver();
  expect(words(verdict)).toEqual(["retry", "retry"]);
  expect(verdict).toHaveProperty("error", "the consumer answered 307, and redirects are not followed");
  expect(requests).toHaveLength(1);
});

it("costs nothing while nobody is there, however often", async () => {
  const url = freshUrl();
  const requests = consumer(lost);
  for (let n = 0; n < 4; n++) {
    const verdict = await deliver([{ body: 0 }], url);
    expect(verdict.kind).toBe("unreachable");
    // The URL's path may be a secret.
    expect(verdict).toHaveProperty("reason", expect.not.stringContaining("token"));
  }
  expect(requests.map(({ request }) => request.method)).toEqual(["POST", "HEAD", "HEAD", "HEAD"]);
  consumer(new Response(null, { status: 405 }), new Response());
  expect(words(await deliver([{ body: 0 }], url))).toEqual(["ack"]);
});

it("costs an attempt when a server that is there hangs up, but for the first time", async () => {
  const url = freshUrl();
  consumer(lost, new Response(null, { status: 405 }), lost, new Response(null, { status: 405 }), lost);
  expect((await deliver([{ body: 0 }], url)).kind).toBe("unreachable");
  expect(words(await deliver([{ body: 0 }], url))).toEqual(["retry"]);
  const verdict = await deliver([{ body: 0 }], url);
  expect(verdict).toMatchObject({ kind: "done", error: expect.stringContaining("Network connection lost.") });
});

it.each([521, 522, 523, 525, 526, 530])("takes the platform's %i for no connection", async (status) => {
  consumer(new Response("error code: 1016", { status }));
  expect((await deliver()).kind).toBe("unreachable");
});

it("fails a batch that is not answered in time", async () => {
  consumer(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  expect(await deliver()).toMatchObject({ kind: "done", error: "no answer within 15 minutes" });
});
