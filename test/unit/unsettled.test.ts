import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Handed } from "../../src/engine/batch.ts";
import { UnsettledMessages } from "../../src/engine/unsettled.ts";

interface Out {
  partition: string;
  seq: number;
  attempts: number;
  chars: number;
  batch: number;
  sentChars: number;
  leaseEndsAt: number;
}

/** The same in the plainest way: a list. */
class Plain {
  out: Out[] = [];
  sentChars = 0;
  readChars = 0;

  add(batch: number, messages: Pick<Out, "partition" | "seq" | "attempts" | "chars">[], leaseEndsAt: number): void {
    for (const { chars } of messages) this.sentChars += chars;
    this.out = this.out.filter((old) => !messages.some((again) => isSame(old, again)));
    this.out.push(...messages.map((message) => ({ ...message, batch, sentChars: this.sentChars, leaseEndsAt })));
  }

  settle(isMeant: (message: Out) => boolean): void {
    const settled = this.out.filter(isMeant);
    this.readChars = Math.max(this.readChars, ...settled.map(({ sentChars }) => sentChars));
    this.drop(isMeant);
  }

  drop(isMeant: (message: Out) => boolean): void {
    this.out = this.out.filter((message) => !isMeant(message));
  }
}

function isSame(a: { partition: string; seq: number }, b: { partition: string; seq: number }): boolean {
  return a.partition === b.partition && a.seq === b.seq;
}

/** Runs of one partition, as a batch has them. */
function handedOf(messages: readonly Pick<Out, "partition" | "seq" | "attempts">[]): Handed[] {
  const runs: Handed[] = [];
  for (const { partition, seq, attempts } of messages) {
    if (runs.at(-1)?.partition !== partition) runs.push({ partition, seqs: [], attempts: [] });
    runs.at(-1)?.seqs.push(seq);
    runs.at(-1)?.attempts.push(attempts);
  }
  return runs;
}

function listed(handed: readonly Handed[]): string[] {
  return handed
    .flatMap(({ partition, seqs, attempts }) => seqs.map((seq, i) => `${partition}:${seq}:${attempts[i]}`))
    .sort();
}

const textOf = ({ partition, seq, attempts }: Out) => `${partition}:${seq}:${attempts}`;

const partition = fc.constantFrom("a", "b", "c");
const op = fc.oneof(
  fc.record({
    type: fc.constant("add" as const),
    // How often a message has come before decides whether it is new or comes again.
    fresh: fc.array(partition, { maxLength: 5 }),
    again: fc.array(fc.nat(), { maxLength: 2 }),
    chars: fc.nat({ max: 9 }),
  }),
  fc.record({
    type: fc.constant("settle" as const),
    which: fc.nat(),
    attempts: fc.option(fc.integer({ min: 1, max: 3 })),
  }),
  fc.record({ type: fc.constant("batch" as const), which: fc.nat() }),
  fc.record({ type: fc.constant("expire" as const), after: fc.nat({ max: 20 }) }),
  fc.record({ type: fc.constant("clear" as const) }),
);

it("knows what is out, however it is settled", () => {
  fc.assert(
    fc.property(fc.array(op, { maxLength: 40 }), (ops) => {
      const unsettled = new UnsettledMessages(5);
      const plain = new Plain();
      const attempts = new Map<string, number>();
      const batches: number[] = [];
      let seq = 0;
      let now = 0;
      for (const one of ops) {
        now++;
        if (one.type === "add") {
          const known = [...attempts.keys()];
          const again = known.length === 0 ? [] : one.again.map((n) => known[n % known.length] as string);
          const names = [...new Set([...again, ...one.fresh.map((name) => `${name}:${seq++}`)])];
          const messages = names.map((name) => {
            const [where = "", number = ""] = name.split(":");
            const count = (attempts.get(name) ?? 0) + 1;
            attempts.set(name, count);
            return { partition: where, seq: Number(number), attempts: count, chars: one.chars };
          });
          if (messages.length === 0) continue;
          const lengths = messages.map(({ chars }) => chars);
          const number = unsettled.add(handedOf(messages), lengths, now + 10);
          expect(number).toBeGreaterThan(batches.at(-1) ?? 4999);
          batches.push(number);
          plain.add(number, messages, now + 10);
        } else if (one.type === "settle") {
          const names = [...attempts.keys(), "a:999"];
          const [where = "", number = ""] = (names[one.which % names.length] as string).split(":");
          const meant = one.attempts ?? undefined;
          unsettled.settle(where, Number(number), meant);
          plain.settle(
            (message) =>
              isSame(message, { partition: where, seq: Number(number) }) &&
              (meant ?? message.attempts) === message.attempts,
          );
        } else if (one.type === "batch") {
          const number = batches[one.which % (batches.length + 1)] ?? 1;
          const expected = plain.out.filter(({ batch }) => batch === number).map(textOf);
          expect(listed(unsettled.inBatch(number))).toEqual(expected.sort());
          unsettled.settleBatch(number);
          plain.settle(({ batch }) => batch === number);
        } else if (one.type === "expire") {
          now += one.after;
          unsettled.expire(now);
          plain.drop(({ leaseEndsAt }) => leaseEndsAt <= now);
        } else {
          expect(listed(unsettled.clear())).toEqual(plain.out.map(textOf).sort());
          plain.out = [];
        }
        expect(unsettled.size).toBe(plain.out.length);
        expect(unsettled.chars).toBe(plain.out.reduce((sum, { chars }) => sum + chars, 0));
        expect([unsettled.sentChars, unsettled.readChars]).toEqual([plain.sentChars, plain.readChars]);
        const ends = plain.out.map(({ leaseEndsAt }) => leaseEndsAt);
        expect(unsettled.nextLeaseEnd).toBe(ends.length === 0 ? null : Math.min(...ends));
      }
      expect(listed(unsettled.clear())).toEqual(plain.out.map(textOf).sort());
    }),
    { numRuns: 3000 },
  );
});
