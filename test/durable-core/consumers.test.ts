import { expect, it } from "vitest";
import { PULL, WORKER } from "./disk.ts";
import { bodies, bodyOf, only, over } from "./support.ts";

const SECOND = { ...WORKER, consumerId: "e".repeat(32), name: "second" };

it(
  "shows every consumer every message, each at its own pace",
  over([WORKER, SECOND], (bench) => {
    const [first, second] = bench.sendAll(1, 2);
    if (first === undefined || second === undefined) throw new Error("both get it");
    bench.ack(first);
    expect(bench.partition.backlog().count).toBe(2);
    bench.finish(second, [{ kind: "ack" }, { kind: "retry", delaySeconds: 5 }]);
    expect(bench.peek().map(bodyOf)).toEqual([2]);
    expect(bench.partition.owed(bench.cursor())).toBe(0);
    expect(bench.partition.owed(bench.cursor("second"))).toBe(1);
    const again = only(bench.pass(5));
    expect(again.flight.cursor.consumer?.name).toBe("second");
    bench.ack(again);
    expect(bench.partition.backlog().count).toBe(0);
    expect(bench.disk.rows("log")).toBe(0);
  }),
);

it(
  "starts a new consumer at the oldest message held",
  over([WORKER], (bench) => {
    bench.fail(only(bench.sendAll(1)), "no", 60);
    bench.ack(only(bench.sendAll(2)));
    const out = only(bench.sendAll(3));
    bench.sendAll(4);
    const [again] = bench.configure([WORKER, SECOND]);
    expect(again?.messages.map(bodyOf).toSorted()).toEqual([1, 3, 4]);
    expect(again?.messages.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
    expect(out.messages).toHaveLength(1);
  }),
);

it(
  "keeps messages while there is no consumer, and the place of the last one",
  over([], (bench) => {
    bench.sendAll(1, 2);
    bench.restart();
    const out = only(bench.configure([{ ...WORKER, batchSize: 1 }]));
    expect(out.messages.map(bodyOf)).toEqual([1]);
    bench.ack(out);
    bench.configure([]);
    bench.sendAll(3);
    bench.restart();
    const [again] = bench.configure([SECOND]);
    expect(again?.messages.map(bodyOf)).toEqual([3, 2].toSorted());
    expect(again?.messages.map(({ attempts }) => attempts)).toEqual([1, 1]);
  }),
);

it(
  "drops what only a removed consumer still needed",
  over([WORKER, SECOND], (bench) => {
    const [first, second] = bench.sendAll(1);
    if (first === undefined || second === undefined) throw new Error("both get it");
    bench.ack(first);
    bench.configure([WORKER]);
    expect(bench.partition.backlog().count).toBe(0);
    expect(bench.disk.rows("log")).toBe(0);
    expect(bench.ack(second), "it is heard no more").toEqual([]);
  }),
);

it(
  "keeps the place of a consumer whose settings change",
  over([{ ...WORKER, batchSize: 1 }], (bench) => {
    bench.ack(only(bench.sendAll(1, 2, 3)));
    const changed = { ...WORKER, batchSize: 2, maxConcurrency: 5, maxRetries: 9 };
    expect(bodies(bench.configure([changed]))).toEqual([[3]]);
  }),
);

it(
  "leases to pull clients, takes late answers, and lets leases run out",
  over([{ ...PULL, maxRetries: 1 }], (bench) => {
    bench.sendAll(1, 2);
    const [one, two] = bench.pull(2, 30_000);
    expect([one?.attempts, two?.attempts]).toEqual([1, 1]);
    expect(bench.pull()).toEqual([]);
    expect(bench.partition.settle({ leaseId: one?.leaseId ?? "", retry: { delaySeconds: 10 } }, bench.now)).toBe(
      "retried",
    );
    bench.now += 31_000;
    const again = bench.pull();
    expect(again.map(bodyOf).toSorted()).toEqual([1, 2]);
    expect(again.map(({ attempts }) => attempts)).toEqual([2, 2]);
    // The first lease on it is over, but it is done.
    expect(bench.partition.settle({ leaseId: two?.leaseId ?? "", retry: null }, bench.now)).toBe("acked");
    bench.now += 31_000;
    expect(bench.pull()).toEqual([]);
    expect(bench.said).toMatchObject([{ event: "message_dropped", details: { error: "its lease ran out" } }]);
    expect(bench.partition.backlog().count).toBe(0);
  }),
);
