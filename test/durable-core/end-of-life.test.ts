import { expect, it } from "vitest";
import { DEAD_LETTERS, PULL, WORKER } from "./disk.ts";
import { bodies, bodyOf, only, over } from "./support.ts";

const WITH_LETTERS = { ...WORKER, maxRetries: 1, deadLetter: DEAD_LETTERS };
const RETENTION = { retentionSeconds: 60 };

it(
  "gives a message up after its last delivery, and keeps it until the dead-letter queue has it",
  over([WITH_LETTERS], (bench) => {
    const out = bench.sendAll("a");
    const { id, sentAt } = only(only(out).messages);
    const again = bench.fail(only(out), "first");
    expect(bench.fail(only(again), "second")).toEqual([]);
    expect(bench.partition.backlog().count).toBe(1);
    bench.restart();
    const cursor = bench.cursor();
    const letter = only(bench.partition.lettersOf(cursor));
    expect(letter).toMatchObject({
      number: 1,
      message: { id, sentAt, type: "json", origin: { queue: "orders", attempts: 2, error: "second" } },
    });
    expect(bench.partition.lettersOf(cursor)).toHaveLength(1);
    bench.partition.lettersArrived(cursor, 1);
    bench.partition.save();
    expect(bench.partition.backlog().count).toBe(0);
    expect(bench.partition.counters.deadLettered).toBe(1);
    expect(bench.disk.rows("log")).toBe(0);
  }),
);

it(
  "takes a dead letter once, however often it is sent",
  over([WORKER], (bench) => {
    const origin = { queue: "elsewhere", attempts: 4, error: "no" };
    const message = {
      id: "1".repeat(32),
      sentAt: 5,
      attempts: 0,
      type: "json",
      body: new Uint8Array([49]),
      origin,
    } as const;
    bench.partition.receive("source:a", [{ number: 1, message }], bench.now);
    bench.restart();
    bench.partition.receive("source:a", [{ number: 1, message }], bench.now);
    bench.partition.receive("source:b", [{ number: 1, message }], bench.now);
    expect(bodies(bench.handOver())).toEqual([[1, 1]]);
    expect(bench.peek().map(({ id, sentAt, origin: from }) => ({ id, sentAt, from }))).toEqual(
      [1, 2].map(() => ({ id: message.id, sentAt: 5, from: origin })),
    );
  }),
);

it(
  "drops a message without a dead-letter queue, and says so",
  over([{ ...WORKER, maxRetries: 0 }], (bench) => {
    bench.fail(only(bench.sendAll("a")), "boom");
    expect(bench.partition.backlog().count).toBe(0);
    expect(bench.partition.counters.exhausted).toBe(1);
    expect(bench.said).toMatchObject([{ event: "message_dropped", details: { attempts: 1, error: "boom" } }]);
    bench.sendAll("b");
    bench.restart();
    expect(bench.handOver()).toEqual([]);
    expect(bench.said.at(-1)).toMatchObject({ details: { error: "the delivery ended without an answer" } });
  }),
);

it(
  "counts the ends of messages over a restart",
  over([{ ...WORKER, maxRetries: 0 }], (bench) => {
    bench.fail(only(bench.sendAll(1, 2)), "boom");
    bench.restart();
    expect(bench.partition.counters.exhausted).toBe(2);
  }),
);

it(
  "drops what is older than the retention, with or without a consumer, and says so",
  over(
    [],
    (bench) => {
      bench.sendAll(1, 2);
      bench.pass(30);
      bench.sendAll(3);
      expect(bench.partition.nextDeadline(bench.now)).toBe(bench.now + 30_000);
      bench.pass(30);
      expect(bench.peek().map(bodyOf)).toEqual([3]);
      expect(bench.partition.counters.expired).toBe(2);
      expect(bench.said).toMatchObject([{ event: "messages_expired", details: { count: 2 } }]);
      bench.pass(30);
      expect(bench.partition.backlog()).toEqual({ count: 0, bytes: 0, oldestAt: null });
    },
    RETENTION,
  ),
);

it(
  "counts the retention of a delayed message from when it is due",
  over(
    [],
    (bench) => {
      bench.send([{ body: 1, delaySeconds: 3600 }]);
      bench.pass(3600);
      bench.pass(59);
      expect(bench.partition.backlog().count).toBe(1);
      bench.pass(1);
      expect(bench.partition.backlog().count).toBe(0);
    },
    RETENTION,
  ),
);

it(
  "keeps what is out over its retention, and drops it when it comes back",
  over(
    [WORKER],
    (bench) => {
      const out = only(bench.sendAll(1, 2));
      bench.sendAll(3);
      expect(bench.pass(61)).toEqual([]);
      expect(bench.partition.counters.expired).toBe(1);
      expect(bench.partition.backlog().count).toBe(2);
      expect(bench.finish(out, [{ kind: "ack" }, { kind: "retry", delaySeconds: 0 }])).toEqual([]);
      expect(bench.partition.counters.expired).toBe(2);
      expect(bench.partition.backlog().count).toBe(0);
    },
    RETENTION,
  ),
);

it(
  "keeps what a pull client has leased over its retention, until the lease runs out",
  over(
    [PULL],
    (bench) => {
      bench.sendAll(1, 2);
      const [lease] = bench.pull(1, 120_000);
      bench.pass(61);
      expect(bench.peek().map(bodyOf)).toEqual([1]);
      expect(bench.partition.nextDeadline(bench.now)).toBe(bench.now + 59_000);
      bench.pass(59);
      expect(bench.partition.backlog().count).toBe(0);
      expect(bench.partition.settle({ leaseId: lease?.leaseId ?? "", retry: null }, bench.now)).toBe("unknown");
    },
    RETENTION,
  ),
);

it(
  "does not dead-letter for want of a consumer, however long it is missing",
  over([WITH_LETTERS], (bench) => {
    let out = bench.sendAll(1);
    for (let i = 0; i < 100; i++) {
      bench.unreachable(only(out));
      out = bench.pass(60);
    }
    expect(bench.partition.lettersWaiting(bench.cursor())).toBe(0);
    expect(only(out).messages.map(({ attempts }) => attempts)).toEqual([1]);
  }),
);

it(
  "purges one message wherever it is, and what is said of it later counts for nothing",
  over([WORKER, PULL], (bench) => {
    const out = only(bench.sendAll(1, 2, 3));
    bench.pull(1);
    bench.send([
      { body: 4, delaySeconds: 60 },
      { body: 5, delaySeconds: 60 },
    ]);
    for (const body of [1, 3, 4]) {
      const found = bench.peek().find((message) => bodyOf(message) === body);
      expect(bench.partition.purgeOne(found?.ref ?? "", bench.now), `message ${body}`).toBe(true);
      expect(bench.partition.purgeOne(found?.ref ?? "", bench.now)).toBe(false);
    }
    expect(bench.peek().map(bodyOf)).toEqual([2, 5]);
    bench.fail(out);
    expect(bench.peek().map(bodyOf)).toEqual([2, 5]);
    expect(bench.partition.counters.purged).toBe(3);
    expect(bench.partition.purgeOne("rubbish", bench.now)).toBe(false);
  }),
);

it(
  "purges everything, what is out included",
  over([WORKER], (bench) => {
    const out = only(bench.sendAll(1));
    bench.send([{ body: 2, delaySeconds: 5 }]);
    bench.sendAll(3);
    expect(bench.partition.purge()).toBe(3);
    bench.partition.save();
    expect(bench.partition.backlog().count).toBe(0);
    bench.fail(out);
    expect(bench.partition.backlog().count).toBe(0);
    expect(bodies(bench.sendAll(4))).toEqual([[4]]);
  }),
);
