import { expect, it } from "vitest";
import { Gather, Gathers } from "../../src/client/gather.ts";

/** Calls that are answered by hand. */
function byHand() {
  const calls: { items: string[]; answer: (error?: Error) => void }[] = [];
  const send = (items: string[]) =>
    new Promise<void>((resolve, reject) => {
      calls.push({ items, answer: (error) => (error === undefined ? resolve() : reject(error)) });
    });
  return { calls, send };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

it("what comes in one turn goes together, and what comes while calls are out goes with the next", async () => {
  const { calls, send } = byHand();
  const gather = new Gather(send, 1);
  const first = [gather.add("a"), gather.add("b")];
  await turn();
  const second = [gather.add("c"), gather.add("d")];
  await turn();
  expect(calls.map(({ items }) => items)).toEqual([["a", "b"]]);
  calls[0]?.answer();
  await Promise.all(first);
  await turn();
  expect(calls.map(({ items }) => items)).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
  expect(gather.isIdle).toBe(false);
  calls[1]?.answer(new Error("no"));
  for (const failed of second) await expect(failed).rejects.toThrow("no");
  expect(gather.isIdle).toBe(true);
});

it("as many calls are out as may be, each of a bounded size", async () => {
  const { calls, send } = byHand();
  const gather = new Gather(send, 3);
  const added = Array.from({ length: 1200 }, (_, n) => gather.add(String(n)));
  await turn();
  expect(calls.map(({ items }) => items.length)).toEqual([500, 500, 200]);
  for (const { answer } of calls) answer();
  await Promise.all(added);
  const large = [gather.add("x", 900_000), gather.add("y", 900_000), gather.add("z", 9_000_000)];
  await turn();
  expect(calls.slice(3).map(({ items }) => items)).toEqual([["x"], ["y"], ["z"]]);
  for (const { answer } of calls) answer();
  await Promise.all(large);
});

it("names do not mix, and a failure of one is not the other's", async () => {
  const sent: [string, string[]][] = [];
  const gathers = new Gathers(async (name, texts) => {
    sent.push([name, texts]);
    if (name === "bad") throw new Error("bad");
  }, 1);
  const results = await Promise.allSettled([gathers.add("a", "1"), gathers.add("bad", "2"), gathers.add("a", "3")]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(sent).toEqual([
    ["a", ["1", "3"]],
    ["bad", ["2"]],
  ]);
});
