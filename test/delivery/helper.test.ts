import { afterEach, expect, it, vi } from "vitest";
import { deliverToWorker } from "../../src/delivery/worker.ts";
import { SENT_AT, stored, words } from "./support.ts";

const answer = { calls: [], error: null };
let number = 0;

/** A method that is not there. */
function lacking(name: string) {
  return () => Promise.reject(new TypeError(`The RPC receiver does not implement the method "${name}".`));
}

/** A consumer that nothing is known of; it lacks the methods that are not given. */
function consumer(methods: { queue?: () => Promise<unknown>; waggleDeliver?: () => Promise<unknown> }) {
  const binding = `CONSUMER_${number++}`;
  const service = {
    queue: vi.fn(methods.queue ?? lacking("queue")),
    waggleDeliver: vi.fn(methods.waggleDeliver ?? lacking("waggleDeliver")),
  };
  const metrics = { count: 1, bytes: 1, oldestAt: SENT_AT };
  const deliver = async () =>
    words(
      await deliverToWorker(service as unknown as Fetcher, binding, {
        queue: "orders",
        metrics,
        messages: stored([{ body: 1 }]),
      }),
    );
  const asked = () => [service.waggleDeliver.mock.calls.length, service.queue.mock.calls.length];
  return { service, deliver, asked };
}

afterEach(() => {
  vi.useRealTimers();
});

/** Lets go of the functions of its batch at once, as the end of a handler does. */
async function handler(...[batch]: { ackAll: Partial<Disposable> }[]): Promise<void> {
  batch?.ackAll[Symbol.dispose]?.();
}

it("calls the helper and nothing else where there is one", async () => {
  const { deliver, asked } = consumer({ waggleDeliver: async () => answer, queue: handler });
  for (let n = 0; n < 3; n++) expect(await deliver()).toEqual(["ack"]);
  expect(asked()).toEqual([3, 0]);
});

it("finds out in one call that there is none, and asks again after five minutes", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { deliver, asked } = consumer({ queue: handler });
  for (let n = 0; n < 3; n++) expect(await deliver()).toEqual(["ack"]);
  expect(asked()).toEqual([1, 3]);
  vi.setSystemTime(Date.now() + 5 * 60_000 - 1000);
  await deliver();
  expect(asked()).toEqual([1, 4]);
  vi.setSystemTime(Date.now() + 1000);
  await deliver();
  expect(asked()).toEqual([2, 5]);
});

it("goes over to the unmodified handler as soon as the helper has gone", async () => {
  const { service, deliver, asked } = consumer({ waggleDeliver: async () => answer, queue: handler });
  await deliver();
  service.waggleDeliver.mockRejectedValue(
    new TypeError('The RPC receiver does not implement the method "waggleDeliver".'),
  );
  expect(await deliver()).toEqual(["ack"]);
  expect(asked()).toEqual([2, 1]);
});

it("asks a consumer that has no handler at all for the helper each time", async () => {
  const { service, deliver, asked } = consumer({});
  expect(await deliver()).toBe("unreachable");
  expect(await deliver()).toBe("unreachable");
  service.waggleDeliver.mockResolvedValue(answer);
  expect(await deliver()).toEqual(["ack"]);
  expect(asked()).toEqual([3, 2]);
});
