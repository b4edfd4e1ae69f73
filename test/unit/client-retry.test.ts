import { expect, it } from "vitest";
import { Waggle, WaggleError, type Message } from "../../src/client/index.ts";

/** Answers calls from a list of what happens to each, and then with `{}`. */
class Network {
  readonly calls: { method: string; path: string; body: string; at: number }[] = [];
  readonly #fates: (number | "lost" | Response)[];

  constructor(...fates: (number | "lost" | Response)[]) {
    this.#fates = fates;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const { pathname } = new URL(String(input));
    this.calls.push({
      method: init?.method ?? "",
      path: pathname.split("/").at(-1) ?? "",
      body: String(init?.body),
      at: Date.now(),
    });
    const fate = this.#fates.shift() ?? 200;
    if (fate === "lost") throw new TypeError("the connection is lost");
    return fate instanceof Response ? fate : new Response('{"result":{"messages":[]},"messages":[]}', { status: fate });
  };
}

function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ error: `it is ${code}`, code }), { status, headers });
}

/** How often a call is made when the network loses its first answer. */
async function triesOf(call: (waggle: Waggle) => Promise<unknown>, fate: "lost" | Response = "lost"): Promise<number> {
  const network = new Network(fate);
  await call(new Waggle("https://broker", { fetch: network.fetch })).catch((error: unknown) =>
    expect(error).toBeInstanceOf(WaggleError),
  );
  return network.calls.length;
}

const message: Message = { id: "e:1:p:0", partition: "p", attempts: 1, payload: null };

it.each<[string, (waggle: Waggle) => Promise<unknown>, number]>([
  ["a push", ({ ephemeral }) => ephemeral.push("q", [1]), 2],
  ["a push with a key of its own", ({ ephemeral }) => ephemeral.push("q", [1], { key: "k" }), 2],
  ["a push without a key", ({ ephemeral }) => ephemeral.push("q", [1], { key: null }), 1],
  ["a pop", ({ ephemeral }) => ephemeral.pop("q"), 2],
  ["an ack of messages", ({ ephemeral }) => ephemeral.ack("q", [message]), 2],
  ["a retry of messages", ({ ephemeral }) => ephemeral.ack("q", [message], { status: "retry" }), 2],
  ["an ack by id", ({ ephemeral }) => ephemeral.ack("q", [message.id]), 2],
  // It could be somebody else's by then.
  ["a retry by id", ({ ephemeral }) => ephemeral.ack("q", [message.id], { status: "retry" }), 1],
  ["a declaration", ({ ephemeral }) => ephemeral.configure("q", {}), 2],
  ["a look", ({ ephemeral }) => ephemeral.queues(), 2],
  ["a depth", ({ ephemeral }) => ephemeral.depth("q"), 2],
  ["a reset", ({ ephemeral }) => ephemeral.reset("q"), 1],
  ["a delete", ({ ephemeral }) => ephemeral.delete("q"), 1],
  ["a durable send", (waggle) => waggle.queues("q").send(1), 1],
  ["a durable batch", (waggle) => waggle.queues("q").sendBatch([{ body: 1 }]), 1],
  ["a pull", (waggle) => waggle.queues("q").pull(), 2],
])("%s whose answer is lost is sent again only where that is harmless", async (_what, call, tries) => {
  expect(await triesOf(call)).toBe(tries);
});

it.each<[string, () => Response, number, number]>([
  ["a queue that is full", () => refusal(429, "queue_full", { "retry-after": "1" }), 1, 1],
  ["a refusal for good", () => refusal(403, "forbidden"), 1, 1],
  ["nobody there", () => refusal(503, "no_responders"), 1, 1],
  ["a broker without auth", () => refusal(503, "auth_not_configured"), 1, 1],
  ["a proxy's error", () => new Response("<html>", { status: 502 }), 2, 1],
  ["an owner that could not be asked", () => refusal(503, "ephemeral_forward_failed"), 2, 1],
  // Nothing has been done: this is safe for every call.
  ["a partition that moves", () => refusal(503, "owner_moved"), 2, 2],
])("%s is met as it should be", async (_what, answer, pushes, resets) => {
  expect(await triesOf(({ ephemeral }) => ephemeral.push("q", [1]), answer())).toBe(pushes);
  expect(await triesOf(({ ephemeral }) => ephemeral.reset("q"), answer())).toBe(resets);
});

it("a repeat carries the key of the first, and another push another", async () => {
  const network = new Network("lost", "lost");
  const { ephemeral } = new Waggle("https://broker", { fetch: network.fetch });
  await ephemeral.push("q", [1]);
  await ephemeral.push("q", [1]);
  const keys = network.calls.map(({ body }) => (JSON.parse(body) as { key: string }).key);
  expect(keys.slice(0, 3)).toEqual([keys[0], keys[0], keys[0]]);
  expect(keys[3]).not.toBe(keys[0]);
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{24}-[0-9a-z]+$/);
});

it("a broker that says when to come back is obeyed", async () => {
  const network = new Network(refusal(503, "owner_moved", { "retry-after": "1" }));
  await new Waggle("https://broker", { fetch: network.fetch }).ephemeral.push("q", [1]);
  const [first, second] = network.calls;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
});

it("an aborted signal ends the tries with its own reason", async () => {
  const network = new Network(...Array.from({ length: 100 }, () => "lost" as const));
  const reason = new Error("enough");
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 50);
  const { ephemeral } = new Waggle("https://broker", { fetch: network.fetch });
  await expect(ephemeral.push("q", [1], { signal: controller.signal })).rejects.toBe(reason);
  const calls = network.calls.length;
  await expect(ephemeral.push("q", [1], { signal: controller.signal })).rejects.toBe(reason);
  expect(network.calls).toHaveLength(calls);
});

it("a token is asked for before every try, and an error of whoever gives it is the caller's", async () => {
  const seen: (string | null)[] = [];
  let tokens = 0;
  const fetcher: typeof fetch = async (_input, init) => {
    seen.push(new Headers(init?.headers).get("authorization"));
    if (seen.length === 1) throw new TypeError("the connection is lost");
    return new Response("{}");
  };
  await new Waggle("https://broker", { token: () => `t${tokens++}`, fetch: fetcher }).ephemeral.push("q", [1]);
  expect(seen).toEqual(["Bearer t0", "Bearer t1"]);
  const reason = new Error("signed out");
  const signedOut = new Waggle("https://broker", { token: () => Promise.reject(reason), fetch: fetcher });
  await expect(signedOut.ephemeral.push("q", [1])).rejects.toBe(reason);
  await expect(signedOut.consume("q", {}, () => {})).rejects.toBe(reason);
});
