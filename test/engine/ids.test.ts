import { describe, expect, it } from "vitest";
import { formatMessageId, newIncarnation, parseMessageId } from "../../src/engine/ids.ts";
import { Bench } from "./harness.ts";
import { MALFORMED } from "./ops.ts";

describe("message ids", () => {
  it.each(["p", "a:b", ":", "e:1a2b:p:7", "line\nbreak", " ", "é€😀", '"\\'])(
    "are read from both ends: partition %j",
    (partition) => {
      const id = { incarnation: "1a2b", partition, seq: 42 };
      expect(parseMessageId(formatMessageId(id))).toEqual(id);
      const bench = new Bench();
      bench.push(["a"], { partition });
      const message = bench.popOne({ partition: null });
      expect(message.partition).toBe(partition);
      expect(parseMessageId(message.id)?.partition).toBe(partition);
      expect(bench.ack(message.id)).toBe("acked");
    },
  );

  it("of which there are none are null", () => {
    for (const text of MALFORMED.slice(0, -1)) expect(parseMessageId(text)).toBeNull();
  });

  it("are never used twice, whatever is deleted, reset or collected", () => {
    const bench = new Bench();
    const seen = new Set<string>();
    const take = (count: number) => {
      const got = bench.pop({ batch: 100 });
      expect(got).toHaveLength(count);
      for (const { id } of got) expect(seen.has(id)).toBe(false);
      for (const { id } of got) seen.add(id);
    };
    bench.push([1, 2, 3]);
    take(3);
    bench.engine.reset("q");
    bench.push([1]);
    take(1);
    bench.engine.remove("q");
    bench.push([1, 2]);
    take(2);
    for (const id of seen) bench.ack(id);
    bench.at(1000);
    expect(bench.engine.queues.size).toBe(0);
    bench.push([1]);
    take(1);
  });

  it("stay the same for every group and every delivery", () => {
    const bench = new Bench();
    bench.push(["a"]);
    const { id } = bench.popOne({ group: "g1" });
    expect(bench.popOne({ group: "g2" }).id).toBe(id);
    bench.ack(id, "retry", { group: "g1" });
    expect(bench.popOne({ group: "g1" }).id).toBe(id);
  });

  it.each([
    ["e:1a:p:7", "p"],
    ["e:1a:p:7:7", "p:7"],
    ["e:1a:p:x:7", "p:x"],
    ["e:2b:p:7", "p"],
    [`e:1a:${"p".repeat(1000)}:7`, "p".repeat(1000)],
  ])("are read by themselves, whatever was read before: %s", (id, partition) => {
    parseMessageId("e:1a:p:6");
    expect(parseMessageId(id)).toEqual({ incarnation: id.slice(2, 4), partition, seq: 7 });
    for (const bad of ["e:1a:p:", "e:1a:p:07", "e:1a:p:-1", "e:1a:p:1.5", "e:1a:p:12345678901234567"]) {
      expect(parseMessageId(bad)).toBeNull();
    }
  });

  it("carry an incarnation of up to 64 bits in lowercase hex", () => {
    const seen = new Set(Array.from({ length: 100 }, () => newIncarnation()));
    expect(seen.size).toBe(100);
    for (const incarnation of seen) expect(incarnation).toMatch(/^[0-9a-f]{1,16}$/);
  });
});

describe("payloads", () => {
  it.each(["null", "1.0", ' {"a" : 1}', '"\\u00e9"', "[[[]]]", '"</script>\\n"', "1e400"])(
    "come back byte for byte: %s",
    (payload) => {
      const bench = new Bench();
      bench.engine.push("q", "p", [payload], true);
      const batch = bench.request();
      if (batch === null || "code" in batch) throw new Error("not answered");
      expect(batch.items).toEqual([`{"id":"e:1a2b:p:0","partition":"p","attempts":1,"payload":${payload}}`]);
    },
  );
});
