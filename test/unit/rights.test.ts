import { describe, expect, it } from "vitest";
import { ackNeed } from "../../src/auth/ack-need.ts";
import { lacking } from "../../src/auth/judge.ts";
import { popNeed, pushNeed, type Need } from "../../src/auth/need.ts";
import { matches } from "../../src/auth/pattern.ts";
import type { Claims, DurableVerb } from "../../src/contract/rights.ts";
import { QUEUE_MODE } from "../../src/contract/limits.ts";

it.each([
  ["presence", "presence", true],
  ["presence", "presence-2", false],
  ["presence", "Presence", false],
  ["presence*", "presence", true],
  ["presence*", "presence-2", true],
  ["presence*", "presenc", false],
  ["*", "", true],
  ["*", "anything: at all", true],
  ["rpc-*", "RPC-1", false],
  ["a.c", "abc", false],
])("the pattern %j on the name %j: %j", (pattern, name, expected) => {
  expect(matches(pattern, name)).toBe(expected);
});

const push = (queue: string, partition = "Default") => pushNeed({ queue, partition });
const pop = (queue: string, partition: string | null = null, group = QUEUE_MODE) =>
  popNeed({ queue, partition, group });
const ack = (queue: string, ids: string[], group = QUEUE_MODE) =>
  ackNeed({ queue, group, acks: ids.map((id) => ({ id })) });
const durable = (queue: string, verb: DurableVerb = "send"): Need => ({ of: "durable", verb, queue });
const id = (partition: string, seq = 1) => `e:1f:${partition}:${seq}`;

function may(claims: Claims, need: Need): boolean {
  return lacking(claims, need) === null;
}

it("lets nobody do anything without a claim", () => {
  for (const claims of [{}, { ephemeral: [] }, { queues: [] }]) {
    expect(may(claims, push("q"))).toBe(false);
    expect(may(claims, { of: "durable", verb: "send", queue: "q" })).toBe(false);
    expect(may(claims, { of: "depth", queue: "q" })).toBe(false);
    expect(may(claims, { of: "admin", verb: "reset", queue: null })).toBe(false);
    expect(may(claims, { of: "token" })).toBe(true);
  }
});

it("lets an admin do everything", () => {
  const needs: Need[] = [push("q"), pop("q"), ack("q", [id("p")]), { of: "depth", queue: "q" }];
  needs.push({ of: "durable", verb: "send", queue: "q" }, { of: "admin", verb: "delete", queue: "q" });
  for (const need of needs) expect(may({ admin: true }, need)).toBe(true);
});

it("keeps ephemeral and durable queues of the same name apart", () => {
  expect(may({ queues: [{ queue: "*", verbs: ["ack"] }] }, ack("q", []))).toBe(false);
  expect(may({ ephemeral: [{ queue: "*", verbs: ["ack"] }] }, { of: "durable", verb: "ack", queue: "q" })).toBe(false);
});

describe("a claim that is confined to partitions", () => {
  const claims: Claims = { ephemeral: [{ queue: "presence", partition: "room-*", verbs: ["push", "pop", "ack"] }] };

  it("covers pushes into them, and one that names none goes to Default", () => {
    expect(may(claims, push("presence", "room-7"))).toBe(true);
    expect(may(claims, push("presence", "lobby"))).toBe(false);
    expect(may(claims, push("presence"))).toBe(false);
    expect(may({ ephemeral: [{ queue: "presence", partition: "Default", verbs: ["push"] }] }, push("presence"))).toBe(
      true,
    );
  });

  it("covers pops of each, and never of all at once", () => {
    expect(may(claims, pop("presence", "room-7"))).toBe(true);
    expect(may(claims, pop("presence", "lobby"))).toBe(false);
    expect(lacking(claims, pop("presence"))).toContain("without naming a partition");
    expect(may({ ephemeral: [{ queue: "presence", partition: "*", verbs: ["pop"] }] }, pop("presence"))).toBe(false);
    expect(may({ ephemeral: [{ queue: "presence", verbs: ["pop"] }] }, pop("presence"))).toBe(true);
  });

  it("covers acks by the partition in each id", () => {
    expect(may(claims, ack("presence", [id("room-7"), id("room-8", 0)]))).toBe(true);
    expect(lacking(claims, ack("presence", [id("room-7"), id("lobby"), id("room-8")]))).toContain('partition "lobby"');
    // A partition's name may hold what ids are divided by.
    expect(may(claims, ack("presence", [id("room-7:x:9")]))).toBe(true);
    expect(may(claims, ack("presence", [id("x:room-7")]))).toBe(false);
  });

  it("covers what is no id, of which nobody is asked", () => {
    expect(may(claims, ack("presence", []))).toBe(true);
    expect(may(claims, ack("presence", ["", "e:", "e:1:room-7", "e:XY:lobby:1", "e:1:lobby:01"]))).toBe(true);
    expect(may(claims, ack("other", []))).toBe(false);
    expect(may({ ephemeral: [{ queue: "presence", verbs: ["pop"] }] }, ack("presence", []))).toBe(false);
  });
});

describe("a claim that is confined to groups", () => {
  const claims: Claims = { ephemeral: [{ queue: "presence", group: "ui-*", verbs: ["push", "pop", "ack"] }] };

  it("covers pops and acks as one of them, and not in queue mode", () => {
    expect(may(claims, pop("presence", "p", "ui-1"))).toBe(true);
    expect(may(claims, pop("presence", null, "ui-1"))).toBe(true);
    expect(may(claims, pop("presence", "p", "other"))).toBe(false);
    expect(lacking(claims, pop("presence", "p"))).toContain("without a group");
    expect(may(claims, ack("presence", [id("p")], "ui-1"))).toBe(true);
    expect(may(claims, ack("presence", [id("p")], "other"))).toBe(false);
    expect(may(claims, ack("presence", [id("p")]))).toBe(false);
  });

  it("covers pushes, which have no group", () => {
    expect(may(claims, push("presence"))).toBe(true);
  });

  it("can be confined to queue mode", () => {
    const mode: Claims = { ephemeral: [{ queue: "q", group: QUEUE_MODE, verbs: ["pop"] }] };
    expect(may(mode, pop("q"))).toBe(true);
    expect(may(mode, pop("q", null, "g"))).toBe(false);
  });
});

it("takes each entry by itself: a verb of one and a queue of another make no right", () => {
  const claims: Claims = {
    ephemeral: [
      { queue: "a", partition: "1", verbs: ["push"] },
      { queue: "b", verbs: ["pop"] },
      { queue: "a", partition: "2", group: "g", verbs: ["ack"] },
      { queue: "a", partition: "3", group: "g", verbs: ["ack"] },
    ],
  };
  expect(may(claims, push("b", "1"))).toBe(false);
  expect(may(claims, pop("a", "1"))).toBe(false);
  expect(may(claims, push("a", "2"))).toBe(false);
  // Ids of one ack may each have an entry of their own.
  expect(may(claims, ack("a", [id("2"), id("3")], "g"))).toBe(true);
  expect(may(claims, ack("a", [id("2"), id("1")], "g"))).toBe(false);
});

it("shows a depth to whoever may pop all of the queue, and to nobody else", () => {
  const depth: Need = { of: "depth", queue: "q" };
  expect(may({ ephemeral: [{ queue: "q", verbs: ["pop"] }] }, depth)).toBe(true);
  expect(may({ ephemeral: [{ queue: "q*", verbs: ["push", "pop"] }] }, depth)).toBe(true);
  expect(may({ ephemeral: [{ queue: "q", verbs: ["push", "ack"] }] }, depth)).toBe(false);
  expect(may({ ephemeral: [{ queue: "q", partition: "*", verbs: ["pop"] }] }, depth)).toBe(false);
  expect(may({ ephemeral: [{ queue: "q", group: "*", verbs: ["pop"] }] }, depth)).toBe(false);
});

describe("a durable queue", () => {
  const ID = "0123456789abcdef0123456789abcdef";

  it("is named by its name", () => {
    expect(may({ queues: [{ queue: "orders", verbs: ["send"] }] }, durable("orders"))).toBe(true);
    expect(may({ queues: [{ queue: "ord*", verbs: ["send"] }] }, durable("orders"))).toBe(true);
    expect(may({ queues: [{ queue: "orders", verbs: ["send"] }] }, durable("orders-dead"))).toBe(false);
    for (const verb of ["pull", "ack", "peek", "metrics"] as const) {
      expect(may({ queues: [{ queue: "orders", verbs: ["send"] }] }, durable("orders", verb)), verb).toBe(false);
    }
  });

  it("is reached by its id with that id in the claim, and by no wildcard", () => {
    expect(may({ queues: [{ queue: ID, verbs: ["send"] }] }, durable(ID))).toBe(true);
    for (const queue of ["*", "0*", `${ID}*`, "orders"]) {
      expect(lacking({ queues: [{ queue, verbs: ["send"] }] }, durable(ID)), queue).toContain("id");
    }
  });
});

it("says in a refusal what was asked and of which queue", () => {
  expect(lacking({}, push('my "queue"', "p"))).toBe('this token may not push on the queue "my \\"queue\\""');
  expect(lacking({}, { of: "admin", verb: "reset", queue: "q" })).toContain('reset on the queue "q"');
  expect(lacking({}, { of: "durable", verb: "peek", queue: "q" })).toContain('peek on the queue "q"');
});
