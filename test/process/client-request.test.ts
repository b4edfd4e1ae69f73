import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Waggle, WaggleError, type RequestContext } from "../../src/client/index.ts";
import { Client, eventually } from "./support.ts";

let workerd: Workerd;
let direct: Client;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build") });
  direct = new Client(workerd.url);
});
afterAll(() => workerd.kill());

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function squareInAWhile({ n }: { n: number }): Promise<{ squared: number }> {
  await sleep(Math.random() * 50);
  return { squared: n ** 2 };
}

async function lateOnZero(n: number): Promise<number> {
  await sleep(n === 0 ? 300 : 0);
  return n;
}

function root({ n }: { n: number }): number {
  if (n < 0) throw new RangeError(`${n} has no root`);
  return Math.sqrt(n);
}

/** Responds for as long as `work` takes. */
async function responding(
  queue: string,
  handler: (payload: never, context: RequestContext) => unknown,
  work: (waggle: Waggle) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const done = new Waggle(workerd.url).respond(queue, handler, { signal: stop.signal, concurrency: 100 });
  const waggle = new Waggle(workerd.url);
  await eventually(() => waggle.ephemeral.isListening(queue), true);
  try {
    await work(waggle);
  } finally {
    waggle.close();
    stop.abort();
    await done;
  }
}

it("1,000 requests in flight come back through one inbox, none crossed", async () => {
  let most = 0;
  await responding("squares", squareInAWhile, async (waggle) => {
    let inFlight = 0;
    const replies = Array.from({ length: 1000 }, async (_, n) => {
      most = Math.max(most, ++inFlight);
      const { squared } = await waggle.request<{ squared: number }>("squares", { n });
      inFlight--;
      return squared;
    });
    expect(await Promise.all(replies)).toEqual(Array.from({ length: 1000 }, (_, n) => n ** 2));
    expect(most).toBe(1000);
    const { queues } = await waggle.ephemeral.queues();
    expect(queues.filter(({ queue }) => queue.startsWith("inbox-"))).toHaveLength(1);
    // A reply can be here before the ack of its request.
    const held = async () => {
      const { queues: all } = await waggle.ephemeral.queues();
      return all.reduce((sum, { depth }) => sum + depth, 0);
    };
    await eventually(held, 0);
  });
});

it("a request that nobody listens to fails at once, and leaves nothing", async () => {
  const waggle = new Waggle(workerd.url);
  const startedAt = Date.now();
  const request = waggle.request("nobody", { n: 7 });
  await expect(request).rejects.toMatchObject({ name: "WaggleError", code: "no_responders", status: 503 });
  // And not after the 30 s that it would wait for a reply.
  expect(Date.now() - startedAt).toBeLessThan(10_000);
  await expect(waggle.ephemeral.depth("nobody")).rejects.toMatchObject({ code: "ephemeral_queue_not_found" });
  waggle.close();
});

it("what a handler throws is what the requester gets", async () => {
  await responding("roots", root, async (waggle) => {
    expect(await waggle.request("roots", { n: 49 })).toBe(7);
    const failing = waggle.request("roots", { n: -1 });
    await expect(failing).rejects.toMatchObject({ code: "responder_failed", message: "-1 has no root" });
    await expect(failing).rejects.toBeInstanceOf(WaggleError);
  });
});

it("a request ends by its timeout or its signal, and a late reply is nobody else's", async () => {
  await responding("slow", lateOnZero, async (waggle) => {
    await expect(waggle.request("slow", 0, { timeout: 100 })).rejects.toMatchObject({ code: "no_reply", status: 0 });
    const reason = new Error("the user has left");
    const leave = new AbortController();
    const left = waggle.request("slow", 0, { signal: leave.signal });
    setTimeout(() => leave.abort(reason), 50);
    await expect(left).rejects.toBe(reason);
    // The late ones arrive meanwhile.
    expect(await Promise.all([1, 2, 3].map((n) => waggle.request("slow", n)))).toEqual([1, 2, 3]);
    await sleep(300);
    expect(await waggle.request("slow", 5)).toBe(5);
  });
});

it("a responder can ask whether the requester still waits", async () => {
  const answers: boolean[] = [];
  const handler = async (ms: number, { isWaiting }: RequestContext) => {
    answers.push(await isWaiting());
    await sleep(ms);
    answers.push(await isWaiting());
    return null;
  };
  await responding("patience", handler, async (waggle) => {
    await waggle.request("patience", 10);
    expect(answers).toEqual([true, true]);
    await expect(waggle.request("patience", 300, { timeout: 100 })).rejects.toMatchObject({ code: "no_reply" });
    await eventually(async () => answers.length, 4);
    expect(answers).toEqual([true, true, true, false]);
  });
});

it("an inbox is left when nothing waits, and what is still parked there takes no later reply", async () => {
  await responding(
    "echo",
    (payload) => payload,
    async (waggle) => {
      const inboxes = async () => {
        const { queues } = await waggle.ephemeral.queues();
        return queues.filter(({ queue }) => queue.startsWith("inbox-")).length;
      };
      const before = await inboxes();
      for (const n of [1, 2, 3]) expect(await waggle.request("echo", n, { timeout: 1000 })).toBe(n);
      expect(await inboxes()).toBe(before + 1);
      await sleep(2100);
      for (const n of [1, 2, 3]) expect(await waggle.request("echo", n, { timeout: 1000 })).toBe(n);
      expect(await inboxes()).toBe(before + 2);
    },
  );
});

it("requests of other programs are handed over whole, and get the bare answer", async () => {
  await responding("plain", squareInAWhile, async () => {
    await direct.push("plain", [{ n: 7, replyTo: "my-inbox" }]);
    const [reply] = await direct.pop("queue=my-inbox&wait=true&timeout=5000&autoAck=true");
    expect(reply?.payload).toEqual({ squared: 49 });
  });
});

it("a closed client ends what waits", async () => {
  await responding(
    "never",
    () => new Promise((resolve) => setTimeout(resolve, 1000)),
    async (waggle) => {
      const request = waggle.request("never", 1);
      setTimeout(() => waggle.close(), 50);
      await expect(request).rejects.toMatchObject({ code: "closed" });
    },
  );
});
