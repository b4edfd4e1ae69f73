import { describe, expect, it } from "vitest";
import { ownerName, Placement } from "../../src/placement.ts";

const RINGS = 10_000;

/** Names as they occur: inboxes that differ in a random part, numbered ones, and partitions of one queue. */
const NAMINGS: [string, (i: number) => [queue: string, partition: string]][] = [
  ["numbered queues", (i) => [`orders-${i}`, "Default"]],
  ["numbered partitions of one queue", (i) => ["orders", `room-${i}`]],
  ["inboxes named by hex", (i) => [`inbox-${(i * 2_654_435_761).toString(16)}`, "Default"]],
  ["single characters", (i) => [String.fromCodePoint(0x4e00 + i), "Default"]],
  ["queues and partitions", (i) => [`q${i % 100}`, `p${Math.floor(i / 100)}`]],
];

function placed(owners: number, naming: (i: number) => [string, string]): number[] {
  const placement = new Placement(owners);
  return Array.from({ length: RINGS }, (_, i) => placement.owner(...naming(i)));
}

describe.each(NAMINGS)("placement of %s", (_, naming) => {
  it.each([2, 3, 8, 16])("is even over %d owners within 15 %%", (owners) => {
    const counts = new Map<number, number>();
    for (const owner of placed(owners, naming)) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: owners }, (__, owner) => owner));
    const even = RINGS / owners;
    for (const [owner, count] of counts) expect(Math.abs(count - even), `owner ${owner}`).toBeLessThan(even * 0.15);
  });

  it.each([1, 2, 4, 8, 15])("moves what the new owner takes over from %d, and nothing else", (owners) => {
    const [before, after] = [placed(owners, naming), placed(owners + 1, naming)];
    const moved = after.filter((owner, i) => owner !== before[i]);
    expect(new Set(moved)).toEqual(new Set([owners]));
    const share = RINGS / (owners + 1);
    expect(moved.length).toBeGreaterThan(share * 0.85);
    expect(moved.length).toBeLessThan(share * 1.1 + 1);
  });

  it("is the same for everybody who computes it", () => {
    expect(placed(8, naming)).toEqual(placed(8, naming));
  });
});

it("puts everything at the one owner there is", () => {
  expect(new Set(placed(1, (i) => [`q${i}`, `p${i}`]))).toEqual(new Set([0]));
});

it("puts the Default partition of a queue at its home", () => {
  const placement = new Placement(8);
  for (let i = 0; i < 1000; i++) expect(placement.owner(`q${i}`, "Default")).toBe(placement.home(`q${i}`));
});

it("puts partitions of a queue elsewhere too", () => {
  const placement = new Placement(8);
  const owners = Array.from({ length: 200 }, (_, i) => placement.owner("orders", `room-${i}`));
  expect(new Set(owners).size).toBe(8);
});

it("does not take one pair of names for another that reads the same", () => {
  const placement = new Placement(1024);
  const pairs = Array.from({ length: 200 }, (_, i): [number, number] => [
    placement.owner(`a${i}`, "bc"),
    placement.owner(`a${i}b`, "c"),
  ]);
  expect(pairs.filter(([one, other]) => one === other).length).toBeLessThan(10);
});

// What is placed stays placed from release to release: another hash would move every queue of a running broker.
it("stays as it has always been", () => {
  const placement = new Placement(8);
  const queues = ["orders", "inbox-1", "é", "漢", "", "x".repeat(512)];
  expect(queues.map((queue) => placement.home(queue))).toEqual([5, 7, 4, 6, 4, 6]);
  const partitions = ["a", "b", "room/1", "é"];
  expect(partitions.map((partition) => placement.owner("orders", partition))).toEqual([5, 5, 0, 3]);
});

it("names owners", () => {
  expect([ownerName(0), ownerName(17)]).toEqual(["owner-0", "owner-17"]);
});
