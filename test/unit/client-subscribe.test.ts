import { expect, it } from "vitest";
import { Waggle, type Message } from "../../src/client/index.ts";

/** A socket whose other end is the test. */
class FakeSocket extends EventTarget {
  static opened: FakeSocket[] = [];
  readyState = 0;
  readonly sent: unknown[] = [];
  #batches = 0;

  constructor(readonly url: string) {
    super();
    FakeSocket.opened.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.readyState = 3;
  }

  subscribed(): void {
    this.readyState = 1;
    this.receives({ type: "subscribed" });
  }

  /** The next batch. */
  brings(...messages: unknown[]): void {
    this.receives({ type: "messages", batch: ++this.#batches, messages });
  }

  receives(frame: unknown): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(frame) }));
  }

  ends(code: number, reason = ""): void {
    this.readyState = 3;
    this.dispatchEvent(new CloseEvent("close", { code, reason }));
  }
}

function message(payload: number, attempts = 1): Message<number> {
  return { id: `e:1:p:${payload}`, partition: "p", attempts, payload };
}

function subscribing(answers: Record<string, Response> = {}) {
  FakeSocket.opened = [];
  let tickets = 0;
  const fetcher: typeof fetch = async (input) => {
    const { pathname } = new URL(String(input));
    return answers[pathname]?.clone() ?? new Response(JSON.stringify({ ticket: `t${tickets++}` }), { status: 201 });
  };
  const webSocket = FakeSocket as unknown as new (url: string) => WebSocket;
  const waggle = new Waggle("https://broker", { token: "secret", fetch: fetcher, webSocket });
  const stop = new AbortController();
  const messages = waggle.subscribe<number>("a b", { group: "g", prefetch: 5, signal: stop.signal });
  return { messages, stop };
}

async function socket(index = 0): Promise<FakeSocket> {
  await expect.poll(() => FakeSocket.opened.length, { interval: 5, timeout: 5000 }).toBeGreaterThan(index);
  return FakeSocket.opened[index] as FakeSocket;
}

const ack = (payload: number, status = "completed", attempts = 1) => ({ id: `e:1:p:${payload}`, attempts, status });

it("opens its socket with a ticket, and acks a message when the next is asked for", async () => {
  const { messages, stop } = subscribing();
  const first = messages.next();
  const broker = await socket();
  expect(broker.url).toBe("wss://broker/api/v1/ephemeral/subscribe?queue=a+b&group=g&prefetch=5&ticket=t0");
  broker.subscribed();
  broker.brings(message(1), message(2), message(3));
  expect((await first).value).toMatchObject(message(1));
  const second = (await messages.next()).value;
  second?.retry();
  second?.ack();
  await messages.next();
  const end = messages.next();
  await expect
    .poll(() => broker.sent)
    .toEqual([
      { type: "ack", acks: [ack(2, "retry")] },
      { type: "ack", batch: 1 },
    ]);
  stop.abort();
  expect(await end).toEqual({ done: true, value: undefined });
  expect(broker.readyState).toBe(3);
});

it("acks a batch as a whole once all of it has been handled, and what came of it before singly", async () => {
  const { messages, stop } = subscribing();
  const first = messages.next();
  const broker = await socket();
  broker.subscribed();
  broker.brings(message(1), message(2));
  broker.brings(message(3));
  broker.brings(message(4), message(5));
  await first;
  for (let asked = 0; asked < 3; asked++) await messages.next();
  // In one turn: the first two batches, and a part of none.
  await expect
    .poll(() => broker.sent)
    .toEqual([
      { type: "ack", batch: 1 },
      { type: "ack", batch: 2 },
    ]);
  await messages.next();
  await expect.poll(() => broker.sent.slice(2)).toEqual([{ type: "ack", acks: [ack(4)] }]);
  const end = messages.next();
  await expect.poll(() => broker.sent.slice(3)).toEqual([{ type: "ack", batch: 3 }]);
  stop.abort();
  await end;
});

it.each([1006, 1012, 1013, 4401, 4408])(
  "after an end of %s it subscribes again, and forgets what it held",
  async (code) => {
    const { messages, stop } = subscribing();
    const first = messages.next();
    const broker = await socket();
    broker.subscribed();
    broker.brings(message(1), message(2));
    await first;
    broker.ends(code);
    const next = messages.next();
    const again = await socket(1);
    expect(again.url).toContain("ticket=t1");
    again.subscribed();
    // All of it went back with the first socket, acks of it would be void.
    again.brings(message(1, 2), message(2, 2));
    expect((await next).value).toMatchObject({ payload: 1, attempts: 2 });
    expect(again.sent).toEqual([]);
    stop.abort();
    await messages.next();
    expect(again.sent, "what was at hand is acked").toEqual([{ type: "ack", acks: [ack(1, "completed", 2)] }]);
  },
);

it.each([
  [4404, "queue_deleted"],
  [4400, "ephemeral_bad_request"],
])("an end of %s is thrown as %s", async (code, thrown) => {
  const { messages } = subscribing();
  const first = messages.next();
  const broker = await socket();
  broker.subscribed();
  broker.ends(code, "so it is");
  await expect(first).rejects.toMatchObject({ name: "WaggleError", code: thrown, message: "so it is" });
});

it("an end is heard of before the connection is closed", async () => {
  const { messages } = subscribing();
  const first = messages.next();
  const broker = await socket();
  broker.subscribed();
  broker.receives({ type: "end", code: 4404, reason: "the queue was deleted" });
  await expect(first).rejects.toMatchObject({ code: "queue_deleted", message: "the queue was deleted" });
  expect(broker.readyState).toBe(3);
});

it("a socket that is refused tells by a plain request why", async () => {
  const refusal = new Response('{"error":"may not pop","code":"forbidden"}', { status: 403 });
  const { messages } = subscribing({ "/api/v1/ephemeral/subscribe": refusal });
  const first = messages.next();
  (await socket()).ends(1006);
  await expect(first).rejects.toMatchObject({ code: "forbidden", status: 403 });
});

it("a token that is refused is thrown before any socket is opened", async () => {
  const refusal = new Response('{"error":"expired","code":"unauthorized"}', { status: 401 });
  const { messages } = subscribing({ "/api/v1/tickets": refusal });
  await expect(messages.next()).rejects.toMatchObject({ code: "unauthorized" });
  expect(FakeSocket.opened).toEqual([]);
});
