import { expect, it } from "vitest";
import { PULL, WORKER } from "./disk.ts";
import { only, over } from "./support.ts";

const HUNDRED = Array.from({ length: 100 }, (_, i) => i);
const BIG = { ...WORKER, batchSize: 100 };

it(
  "writes two rows for a message that goes out in the turn of its send",
  over([WORKER], (bench) => {
    expect(bench.rows(() => bench.ack(only(bench.sendAll(1))))).toBe(2);
  }),
);

it(
  "writes one row more for the lease of any other batch",
  over([WORKER], (bench) => {
    const first = only(bench.sendAll(1));
    const rows = bench.rows(() => {
      bench.sendAll(2);
      bench.ack(only(bench.ack(first)));
    });
    // The first is deleted, the second inserted, leased and deleted.
    expect(rows).toBe(4);
  }),
);

it(
  "writes two rows for a hundred messages that are sent and handed out together",
  over([BIG], (bench) => {
    expect(bench.rows(() => bench.ack(only(bench.sendAll(...HUNDRED))))).toBe(2);
  }),
);

it(
  "writes a row for each batch of a part of what was sent together",
  over([WORKER], (bench) => {
    const rows = bench.rows(() => {
      let out = bench.sendAll(...HUNDRED);
      while (out.length > 0) out = bench.ack(only(out));
    });
    expect(rows).toBe(12);
    expect(bench.disk.rows("log")).toBe(0);
  }),
);

it(
  "writes nothing for being asked, or for time that passes",
  over([WORKER, PULL], (bench) => {
    bench.sendAll(1, 2);
    const rows = bench.rows(() => {
      bench.peek();
      bench.partition.backlogDetail(bench.now);
      for (let i = 0; i < 100; i++) bench.pass(1);
    });
    expect(rows).toBe(0);
  }),
);

it(
  "holds 40,000 messages of which half are delayed, with one deadline, and delivers each once",
  { timeout: 60_000 },
  over([{ ...BIG, maxRetries: 0 }], (bench) => {
    bench.configure([BIG], { deliveryPaused: true });
    for (let i = 0; i < 400; i++) {
      const delaySeconds = i % 2 === 0 ? 0 : 3600;
      bench.send(HUNDRED.map((n) => ({ body: i * 100 + n, delaySeconds })));
    }
    expect(bench.partition.backlogDetail(bench.now)).toMatchObject({ readyCount: 20_000, delayedCount: 20_000 });
    const seen = new Set<number>();
    const drain = (out: ReturnType<typeof bench.handOver>) => {
      while (out.length > 0) {
        for (const { body } of only(out).messages) seen.add(Number(new TextDecoder().decode(body)));
        out = bench.ack(only(out));
      }
    };
    drain(bench.configure([BIG]));
    expect(seen.size).toBe(20_000);
    expect(bench.partition.nextDeadline(bench.now)).toBe(bench.now + 3_600_000);
    drain(bench.pass(3600));
    for (let i = 0; i < 100 && seen.size < 40_000; i++) drain(bench.handOver());
    expect(seen.size).toBe(40_000);
    expect(bench.partition.backlog()).toEqual({ count: 0, bytes: 0, oldestAt: null });
    expect(bench.partition.nextDeadline(bench.now)).toBeUndefined();
  }),
);
