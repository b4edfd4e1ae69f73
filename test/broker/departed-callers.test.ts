import { expect, it } from "vitest";
import {
  call,
  freshQueue,
  homeOf,
  listed,
  parked,
  partitionAway,
  partitionsAway,
  pop,
  popPath,
  popPayloads,
  push,
  waitingPop,
} from "./support.ts";

/** Parks pops whose callers then hang up: a cancelled fetch, which the broker hears of through `request.signal`. */
async function abandon(queue: string, count: number, parameters: Record<string, string | number> = {}): Promise<void> {
  const callers = Array.from({ length: count }, () => new AbortController());
  const fetches = callers.map(({ signal }) =>
    call(popPath(queue, { wait: true, timeout: 60_000, ...parameters }), { signal }).then(
      () => "answered",
      () => "aborted",
    ),
  );
  await parked(count);
  for (const caller of callers) caller.abort();
  expect(new Set(await Promise.all(fetches))).toEqual(new Set(["aborted"]));
}

const numbers = Array.from({ length: 200 }, (_, i) => i);

it.each([
  ["the home's partition", "Default", true],
  ["a partition of another owner", "away", true],
  ["any partition, with messages from the home", "Default", false],
  ["any partition, with messages from another owner", "away", false],
])("loses nothing to 200 callers who left while parked on %s", async (_, where, named) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  await pop(queue, { partition });
  await abandon(queue, 200, named ? { partition } : {});
  await parked(0);
  await Promise.all(numbers.map((i) => push(queue, [i], partition)));
  const messages = await pop(queue, { batch: 1000 });
  expect(messages.map(({ payload }) => Number(payload)).sort((a, b) => a - b)).toEqual(numbers);
  expect(messages.filter(({ attempts }) => attempts !== 1)).toEqual([]);
});

it("loses nothing to callers who leave in the moment of the push", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  for (const partition of partitions) await pop(queue, { partition });
  const callers = Array.from({ length: 100 }, () => new AbortController());
  const fetches = callers.map(async ({ signal }) => {
    try {
      const response = await call(popPath(queue, { wait: true, timeout: 60_000 }), { signal });
      return (await response.json<{ messages: { payload: number }[] }>()).messages.map(({ payload }) => payload);
    } catch {
      return [];
    }
  });
  await parked(100);
  const pushes = Array.from({ length: 100 }, (_, i) => push(queue, [i], partitions[i % 4]));
  for (const caller of callers.slice(0, 50)) caller.abort();
  await Promise.all(pushes);
  // What went to callers who had gone comes back at once, and not only when its lease ends.
  const delivered = (await Promise.all(fetches)).flat();
  const rest: number[] = [];
  await expect
    .poll(
      async () => {
        rest.push(...(await popPayloads(queue, { batch: 1000 })).map(Number));
        return delivered.length + rest.length;
      },
      { interval: 20, timeout: 4000 },
    )
    .toBe(100);
  expect([...delivered, ...rest].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

it("lets the next in line move up when the first one leaves", async () => {
  const queue = freshQueue();
  const caller = new AbortController();
  const first = call(popPath(queue, { wait: true, timeout: 60_000 }), { signal: caller.signal }).catch(() => null);
  await parked(1);
  const second = waitingPop(queue);
  await parked(2);
  caller.abort();
  await first;
  await parked(1);
  await push(queue, ["x"]);
  expect(await second).toMatchObject([{ payload: "x", attempts: 1 }]);
});

it("forgets a pop that is cancelled before it has parked", async () => {
  const queue = freshQueue();
  const home = homeOf(queue);
  await home.cancel("early");
  const request = { queue, partition: null, group: "g", batch: 1, autoAck: false, waitMs: 60_000, waiterId: "early" };
  const answer = await home.pop(request);
  expect(answer).toMatchObject({ count: 0 });
  await parked(0);
});

it("keeps nothing of a caller who left", async () => {
  const queue = freshQueue();
  await abandon(queue, 20);
  await parked(0);
  expect(await listed(queue)).toMatchObject({ depth: 0, groups: 1 });
});
