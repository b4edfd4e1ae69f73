import { expect, it } from "vitest";
import { Bench, codeOf } from "./harness.ts";
import { Restarts } from "./restarts.ts";

function ask({ engine }: Pick<Bench, "engine">, partition = "p", payloads = ["1"], key?: string): string | null {
  return codeOf(engine.push("q", partition, payloads, false, { requireResponders: true, key }));
}

it("a push that asks for responders is refused where nobody listens, and creates nothing", () => {
  const bench = new Bench();
  expect(ask(bench)).toBe("no_responders");
  expect(bench.length()).toBeNull();
  bench.push([1]);
  expect(ask(bench), "messages are no listeners").toBe("no_responders");
  expect(bench.length()).toBe(1);
});

it.each(["p", null])(
  "a parked pop of %s listens for as long as it is parked, and its group for 5 s after",
  (partition) => {
    const bench = new Bench();
    bench.park({ partition, waiterId: "w", group: "g", waitMs: 30_000 });
    bench.at(29);
    expect(ask(bench)).toBeNull();
    expect(bench.answer("w")).toEqual([1]);
    bench.at(33.999);
    expect(ask(bench)).toBeNull();
    bench.at(34);
    expect(ask(bench)).toBe("no_responders");
  },
);

it("whoever pops one partition does not listen to another", () => {
  const bench = new Bench();
  bench.park({ partition: "other" });
  expect(ask(bench, "other")).toBeNull();
  expect(ask(bench, "p")).toBe("no_responders");
});

it("with no payload it only asks, and a repeat of what was stored is never refused", () => {
  const bench = new Bench();
  expect(ask(bench, "p", [])).toBe("no_responders");
  bench.pop();
  expect(ask(bench, "p", [])).toBeNull();
  expect(bench.length()).toBe(0);
  expect(ask(bench, "p", ["1"], "k")).toBeNull();
  bench.at(10);
  expect(ask(bench, "p", ["1"], "k")).toBeNull();
  expect(ask(bench, "p", ["1"], "l")).toBe("no_responders");
});

it("after a crash nobody knows for 5 s who was there; after sleep it is known that nobody was", () => {
  const owner = new Restarts();
  owner.push(["1"]);
  owner.pop({ group: "g" });
  owner.checkpoint();
  owner.crash();
  expect(ask(owner, "p", ["2"])).toBeNull();
  owner.engine.advance(owner.now + 5000);
  expect(ask(owner)).toBe("no_responders");
  owner.now += 40_000;
  owner.engine.advance(owner.now);
  expect(owner.sleep()).toBe(true);
  expect(ask(owner)).toBe("no_responders");
});
