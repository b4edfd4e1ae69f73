import { expect, it } from "vitest";
import {
  type Parameters,
  freshQueue,
  listed,
  parked,
  partitionsAway,
  payloadsOf,
  popPayloads,
  push,
  waitingPop,
} from "./support.ts";

const CROWD = 1000;
const numbers = Array.from({ length: CROWD }, (_, i) => i);
const inOrder = numbers.join();
const LONG = { timeout: 60_000 };

/** Takes all there is for a group, for good. */
function all(i: number): Parameters {
  return { group: `g${i}`, batch: 10_000, autoAck: true };
}

it.each([
  ["in one partition of the home", 1, true],
  ["in any partition, from all owners", 8, false],
])(
  "gives each of 1,000 parked pops of one group exactly one of 1,000 pushed messages (%s)",
  async (_, count, named) => {
    const queue = freshQueue();
    const partitions = count === 1 ? ["Default"] : ["Default", ...partitionsAway(queue, count - 1)];
    const place = named ? { partition: "Default" } : {};
    const waiting = numbers.map(() => waitingPop(queue, { ...LONG, ...place }));
    await parked(CROWD);
    await Promise.all(numbers.map((i) => push(queue, [i], partitions[i % count])));
    const answers = await Promise.all(waiting);
    expect(answers.filter((messages) => messages.length !== 1)).toEqual([]);
    expect(
      answers
        .flatMap(payloadsOf)
        .map(Number)
        .sort((a, b) => a - b)
        .join(),
    ).toBe(inOrder);
    expect(answers.flat().filter(({ attempts }) => attempts !== 1)).toEqual([]);
    expect(await popPayloads(queue, { batch: 10_000 })).toEqual([]);
  },
  30_000,
);

it("gives each of 1,000 groups with a parked pop all of 1,000 pushed messages, in order", async () => {
  const queue = freshQueue();
  const waiting = numbers.map((i) => waitingPop(queue, { ...LONG, ...all(i) }));
  await parked(CROWD);
  for (const i of numbers) await push(queue, [i]);
  for (const [i, first] of waiting.entries()) {
    const got = payloadsOf(await first);
    expect(got.length).toBeGreaterThan(0);
    got.push(...(await popPayloads(queue, all(i))));
    // As text: a comparison of a million elements one by one would take longer than all the rest.
    expect(got.join()).toBe(inOrder);
  }
  expect(await listed(queue)).toMatchObject({ depth: 0, groups: CROWD });
}, 60_000);
