import * as fc from "fast-check";
import { expect, it } from "vitest";
import { SeqMap, type Numbered } from "../../src/engine/seq-map.ts";

interface Thing extends Numbered {
  name: string;
}

/** Near one another, as those of one partition are, in strides, as those of several in turn, and far apart. */
const seqs = fc.oneof(
  fc.nat({ max: 60 }),
  fc.nat({ max: 60 }).map((n) => 4096 * n),
  fc.nat({ max: 60 }).map((n) => 2 ** 40 + n),
);

it("holds what a Map would", () => {
  const ops = fc.array(fc.tuple(fc.constantFrom("set", "set", "delete"), seqs, fc.string({ maxLength: 2 })), {
    maxLength: 300,
    size: "max",
  });
  fc.assert(
    fc.property(ops, (all) => {
      const map = new SeqMap<Thing>();
      const model = new Map<number, Thing>();
      for (const [op, seq, name] of all) {
        if (op === "set") {
          map.set({ seq, name });
          model.set(seq, { seq, name });
        } else {
          map.delete(seq);
          model.delete(seq);
        }
        expect(map.get(seq)).toEqual(model.get(seq));
      }
      expect(map.size).toBe(model.size);
      for (const [seq, thing] of model) expect(map.get(seq)).toEqual(thing);
      const bySeq = (a: Thing, b: Thing) => a.seq - b.seq;
      expect(map.values().sort(bySeq)).toEqual([...model.values()].sort(bySeq));
    }),
    { numRuns: 2000 },
  );
});

it("keeps what is left of many while the rest goes", () => {
  const map = new SeqMap<Numbered>();
  for (let seq = 0; seq < 50_000; seq++) map.set({ seq });
  for (let seq = 0; seq < 50_000; seq++) if (seq % 1000 !== 7) map.delete(seq);
  expect(map.size).toBe(50);
  for (let seq = 7; seq < 50_000; seq += 1000) expect(map.get(seq)).toEqual({ seq });
});
