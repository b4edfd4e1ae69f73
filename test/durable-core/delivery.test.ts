import { expect, it } from "vitest";
import { PULL, WORKER } from "./disk.ts";
import { bodies, only, over } from "./support.ts";

const ONE_AT_A_TIME = { ...WORKER, batchSize: 1 };

it(
  "delivers on arrival, and what arrives meanwhile goes together in the next batch",
  over([WORKER], (bench) => {
    const first = bench.sendAll(1);
    expect(bodies(first)).toEqual([[1]]);
    expect(bench.sendAll(2)).toEqual([]);
    expect(bench.sendAll(3, 4)).toEqual([]);
    expect(bodies(bench.ack(only(first)))).toEqual([[2, 3, 4]]);
  }),
);

it(
  "hands out as many batches at a time as it may, and not one more",
  over([{ ...ONE_AT_A_TIME, maxConcurrency: 250 }], (bench) => {
    const out = [0, 1, 2].flatMap((i) => bench.sendAll(...Array.from({ length: 100 }, (_, n) => i * 100 + n)));
    expect(bodies(out)).toEqual(Array.from({ length: 250 }, (_, i) => [i]));
    const [first] = out;
    if (first === undefined) return;
    expect(bodies(bench.ack(first))).toEqual([[250]]);
  }),
);

it(
  "waits for a batch to fill, for as long as it may",
  over([{ ...WORKER, batchSize: 3, maxWaitMs: 5000 }], (bench) => {
    expect(bench.sendAll(1)).toEqual([]);
    expect(bench.pass(4)).toEqual([]);
    expect(bench.partition.nextDeadline(bench.now)).toBe(bench.now + 1000);
    expect(bench.sendAll(2)).toEqual([]);
    const full = bench.sendAll(3);
    expect(bodies(full)).toEqual([[1, 2, 3]]);
    bench.ack(only(full));
    expect(bench.sendAll(4)).toEqual([]);
    expect(bodies(bench.pass(5))).toEqual([[4]]);
  }),
);

it(
  "counts the wait of a batch from the message's own arrival, over a restart",
  over([{ ...WORKER, maxWaitMs: 5000 }], (bench) => {
    bench.sendAll(1);
    bench.now += 4000;
    bench.restart();
    expect(bench.handOver()).toEqual([]);
    expect(bodies(bench.pass(1))).toEqual([[1]]);
  }),
);

it(
  "counts a retry's delay from the moment the result arrives",
  over([{ ...WORKER, retryDelaySeconds: 7 }], (bench) => {
    const out = bench.sendAll(1, 2);
    bench.now += 60_000;
    const [own, declared] = [
      { kind: "retry" as const, delaySeconds: 3 },
      { kind: "retry" as const, delaySeconds: null },
    ];
    expect(bench.finish(only(out), [own, declared])).toEqual([]);
    expect(bodies(bench.pass(2.9))).toEqual([]);
    const early = bench.pass(0.1);
    expect(bodies(early)).toEqual([[1]]);
    bench.ack(only(early));
    expect(bodies(bench.pass(3.9))).toEqual([]);
    const late = bench.pass(0.1);
    expect(bodies(late)).toEqual([[2]]);
    expect(only(late).messages.map(({ attempts }) => attempts)).toEqual([2]);
  }),
);

it(
  "queues retried messages by their due time, among those that arrived meanwhile",
  over([ONE_AT_A_TIME], (bench) => {
    const first = bench.sendAll(1);
    bench.now += 1;
    bench.sendAll(2);
    bench.now += 1;
    const second = bench.fail(only(first), "no", 1);
    expect(bodies(second)).toEqual([[2]]);
    bench.pass(0.5);
    bench.sendAll(3);
    bench.pass(0.6);
    bench.sendAll(4);
    const third = bench.ack(only(second));
    expect(bodies(third)).toEqual([[3]]);
    const fourth = bench.ack(only(third));
    expect(bodies(fourth)).toEqual([[1]]);
    expect(bodies(bench.ack(only(fourth)))).toEqual([[4]]);
  }),
);

it(
  "delivers delayed messages in the order in which they are due",
  over([ONE_AT_A_TIME], (bench) => {
    bench.send([
      { body: "late", delaySeconds: 20 },
      { body: "early", delaySeconds: 10 },
    ]);
    expect(bench.partition.nextDeadline(bench.now)).toBe(bench.now + 10_000);
    const early = bench.pass(10);
    expect(bodies(early)).toEqual([["early"]]);
    bench.ack(only(early));
    expect(bodies(bench.pass(10))).toEqual([["late"]]);
  }),
);

it(
  "takes the queue's own delay where a send names none",
  over(
    [WORKER],
    (bench) => {
      expect(bodies(bench.send([{ body: "now", delaySeconds: 0 }, { body: "later" }]))).toEqual([["now"]]);
    },
    { deliveryDelaySeconds: 5 },
  ),
);

it(
  "stops delivery while it is paused, and takes messages all the same",
  over([WORKER, PULL], (bench) => {
    bench.configure([WORKER, PULL], { deliveryPaused: true });
    expect(bench.sendAll(1)).toEqual([]);
    expect(bench.pass(1000)).toEqual([]);
    expect(bodies(bench.configure([WORKER, PULL]))).toEqual([[1]]);
  }),
);

it(
  "costs an attempt when the consumer dies, and none when nobody was reached",
  over([{ ...WORKER, maxRetries: 1 }], (bench) => {
    const [out] = [bench.sendAll(1)];
    bench.restart();
    const again = bench.handOver();
    expect(only(again).messages.map(({ attempts }) => attempts)).toEqual([2]);
    expect(out).toHaveLength(1);
    expect(bench.unreachable(only(again))).toEqual([]);
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      expect(bench.pass(seconds - 0.001)).toEqual([]);
      const tried = bench.pass(0.001);
      expect(only(tried).messages.map(({ attempts }) => attempts)).toEqual([2]);
      expect(bench.unreachable(only(tried))).toEqual([]);
    }
    expect(bench.said).toEqual([]);
    bench.ack(only(bench.pass(60)));
    expect(bench.partition.backlog().count).toBe(0);
  }),
);

it(
  "tries one batch until somebody is reached, and then as many as it may",
  over([{ ...ONE_AT_A_TIME, maxConcurrency: 3 }], (bench) => {
    const out = bench.sendAll(1, 2, 3, 4);
    expect(out).toHaveLength(3);
    for (const delivery of out) expect(bench.unreachable(delivery)).toEqual([]);
    const probe = bench.pass(60);
    expect(bodies(probe)).toEqual([[1]]);
    expect(bodies(bench.ack(only(probe)))).toEqual([[2], [3], [4]]);
  }),
);

it(
  "keeps a batch that waits for its consumer over a restart, and tries at once",
  over([WORKER], (bench) => {
    bench.unreachable(only(bench.sendAll(1, 2)));
    bench.restart();
    expect(bench.db.rowsWritten).toBe(0);
    const again = bench.handOver();
    expect(bodies(again)).toEqual([[1, 2]]);
    expect(only(again).messages.map(({ attempts }) => attempts)).toEqual([1, 1]);
  }),
);

it(
  "carries no more in one batch than an RPC can",
  over([{ ...WORKER, batchSize: 100 }], (bench) => {
    bench.configure([{ ...WORKER, batchSize: 100 }], { deliveryPaused: true });
    for (let i = 0; i < 100; i++) bench.send([{ body: "x".repeat(120_000), contentType: "text" }]);
    const [first] = bench.configure([{ ...WORKER, batchSize: 100 }]);
    const bytes = first?.messages.reduce((sum, { body }) => sum + body.byteLength, 0) ?? 0;
    expect(bytes).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(first?.messages.length).toBe(69);
  }),
);
