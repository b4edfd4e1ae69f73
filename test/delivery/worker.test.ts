import { describe, expect, it, vi } from "vitest";
import { MAX_HANDLER_MS } from "../../src/contract/queue-limits.ts";
import type { Step } from "./consumers/script.ts";
import { deliver, deliverMessages, seen, SENT_AT, words } from "./support.ts";

/** Every way to write a consumer, without the helper and with it. */
const BINDINGS = ["OBJECT", "NAMED", "CLASS", "WRAPPED", "WRAPPED_CLASS"];
/** Where a batch can be looked at: entrypoints of a Worker share its module. */
const MODULE: Record<string, string> = { NAMED: "OBJECT", WRAPPED_CLASS: "WRAPPED" };

describe.each(BINDINGS)("%s", (binding) => {
  it("is given the batch as Cloudflare Queues hands it over", async () => {
    const cycle: Record<string, unknown> = { when: new Date(5), map: new Map([[1n, new Set(["x"])]]) };
    cycle["self"] = cycle;
    const verdict = await deliverMessages(binding, [
      { body: { total: 1.5, at: new Date(0) } },
      { body: "plain text", contentType: "text" },
      { body: new Uint8Array([1, 2, 255]), contentType: "bytes" },
      { body: cycle, contentType: "v8" },
    ]);
    expect(verdict).toMatchObject({ kind: "done", error: null });
    expect(words(verdict)).toEqual(["ack", "ack", "ack", "ack"]);
    const { queue, metadata, messages, env } = await seen(MODULE[binding] ?? binding);
    expect(queue).toBe("orders");
    expect(env).toEqual(["COLOUR"]);
    expect(metadata).toEqual({
      metrics: { backlogCount: 12, backlogBytes: 3456, oldestMessageTimestamp: new Date(SENT_AT) },
    });
    expect(messages.map(({ id, timestamp, attempts }) => [id, timestamp, attempts])).toEqual(
      [0, 1, 2, 3].map((n) => [`message-${n}`, new Date(SENT_AT + n), n + 1]),
    );
    const [json, text, bytes, v8] = messages.map(({ body }) => body);
    expect(json).toEqual({ total: 1.5, at: "1970-01-01T00:00:00.000Z" });
    expect(text).toBe("plain text");
    expect(bytes).toEqual(new Uint8Array([1, 2, 255]));
    expect(v8).toMatchObject({ when: new Date(5), map: new Map([[1n, new Set(["x"])]]) });
    expect((v8 as typeof cycle)["self"]).toBe(v8);
  });

  const cases: [string, Step[], unknown][] = [
    ["no call", [], ["ack", "ack", "ack"]],
    ["no call before a throw", [["throw", "no"]], ["retry", "retry", "retry"]],
    [
      "an ack before a throw",
      [
        ["ack", 1],
        ["throw", "no"],
      ],
      ["retry", "ack", "retry"],
    ],
    ["ackAll before a throw", [["ackAll"], ["throw", "no"]], ["ack", "ack", "ack"]],
    ["a retry with a delay", [["retry", 1, { delaySeconds: 60 }]], ["ack", 60, "ack"]],
    [
      "ack, then retry",
      [
        ["ack", 0],
        ["retry", 0],
      ],
      ["ack", "ack", "ack"],
    ],
    [
      "retry, then ack",
      [
        ["retry", 0],
        ["ack", 0],
      ],
      ["retry", "ack", "ack"],
    ],
    ["retry, then ackAll", [["retry", 2], ["ackAll"]], ["ack", "ack", "retry"]],
    ["ackAll, then retry", [["ackAll"], ["retry", 2]], ["ack", "ack", "ack"]],
    ["ackAll, then retryAll", [["ackAll"], ["retryAll"]], ["ack", "ack", "ack"]],
    ["retryAll, then ackAll", [["retryAll", { delaySeconds: 3 }], ["ackAll"]], [3, 3, 3]],
    [
      "ack, then retryAll",
      [
        ["ack", 0],
        ["retryAll", { delaySeconds: 3 }],
      ],
      ["ack", 3, 3],
    ],
    [
      "retryAll, then ack and retry",
      [["retryAll"], ["ack", 0], ["retry", 1, { delaySeconds: 9 }]],
      ["retry", 9, "retry"],
    ],
    [
      "calls after some time",
      [
        ["wait", 20],
        ["retry", 0],
        ["wait", 20],
        ["ack", 1],
      ],
      ["retry", "ack", "ack"],
    ],
    ["a value that is returned", [["return", "object"]], ["ack", "ack", "ack"]],
    [
      "a function that is returned",
      [
        ["retry", 0],
        ["return", "stub"],
      ],
      ["retry", "ack", "ack"],
    ],
  ];
  it.each(cases)("counts %s", async (_, steps, wanted) => {
    expect(words(await deliver(binding, 3, steps))).toEqual(wanted);
  });

  it("says why a handler has failed", async () => {
    expect(await deliver(binding, 1, [["throw", "out of paper"]])).toMatchObject({ error: "RangeError: out of paper" });
  });

  it("retries by default when a delay is none, and fails if the handler lets that show", async () => {
    for (const delaySeconds of [-1, 86_401, 0.5]) {
      const verdict = await deliver(binding, 2, [["retry", 0, { delaySeconds }]]);
      // The helper's functions throw where they are called; those of an unmodified handler reject where nobody waits.
      const wanted = binding.startsWith("WRAPPED") ? ["retry", "retry"] : ["retry", "ack"];
      expect(words(verdict)).toEqual(wanted);
    }
  });

  it("takes a hundred messages, each with a call of its own", async () => {
    const steps: Step[] = Array.from({ length: 100 }, (_, n) =>
      n % 3 === 0 ? ["retry", n, { delaySeconds: n }] : ["ack", n],
    );
    const wanted = steps.map((_, n) => (n % 3 === 0 ? n : "ack"));
    const verdicts = await Promise.all(
      Array.from({ length: 6 }, () => deliver(binding, 100, [...steps, ["throw", "x"]])),
    );
    for (const verdict of verdicts) expect(words(verdict)).toEqual(wanted);
  });
});

it("does not reach a Worker that has no handler, at no cost", async () => {
  const verdict = await deliver("SILENT", 2);
  expect(verdict).toEqual({
    kind: "unreachable",
    reason: 'TypeError: The RPC receiver does not implement the method "queue".',
  });
});

it("says what to do about a returned value that cannot be sent, of an unmodified handler", async () => {
  const verdict = await deliver("OBJECT", 1, [
    ["ack", 0],
    ["return", "instance"],
  ]);
  expect(verdict).toMatchObject({ kind: "done", decisions: [{ kind: "ack" }] });
  expect(verdict).toHaveProperty("error", expect.stringContaining("let it return nothing"));
  expect(await deliver("WRAPPED", 1, [["return", "instance"]])).toMatchObject({ error: null });
});

it("fails a batch whose helper answers what is none", async () => {
  expect(await deliver("STRANGE", 2)).toMatchObject({
    decisions: [{ kind: "retry" }, { kind: "retry" }],
    error: expect.stringContaining("helper"),
  });
});

it("hears with the helper what is decided in waitUntil, and that it failed", async () => {
  for (const binding of ["WRAPPED", "WRAPPED_CLASS"]) {
    const late: Step[] = [["ack", 0], ["background"], ["wait", 30], ["retry", 1, { delaySeconds: 4 }]];
    expect(words(await deliver(binding, 3, late))).toEqual(["ack", 4, "ack"]);
    const nested: Step[] = [["background"], ["wait", 5], ["background"], ["wait", 5], ["throw", "too late"]];
    expect(await deliver(binding, 1, nested)).toEqual({
      kind: "done",
      decisions: [{ kind: "retry", delaySeconds: null }],
      error: "in waitUntil: RangeError: too late",
    });
  }
});

it("does not wait for what an unmodified handler does in waitUntil", async () => {
  expect(words(await deliver("OBJECT", 2, [["background"], ["wait", 30], ["retry", 1]]))).toEqual(["ack", "ack"]);
});

it("gives a handler a quarter of an hour, and takes nothing from it after that", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  for (const binding of ["OBJECT", "WRAPPED"]) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const delivery = deliver(binding, 3, [
      ["ack", 0],
      ["wait", 300],
      ["ack", 1],
    ]);
    await scheduler.wait(100);
    vi.advanceTimersByTime(MAX_HANDLER_MS - 1);
    await scheduler.wait(10);
    vi.advanceTimersByTime(1);
    const verdict = await delivery;
    vi.useRealTimers();
    // The acks of an unmodified handler have arrived by then; those of the helper come with its answer.
    expect(words(verdict)).toEqual(binding === "OBJECT" ? ["ack", "retry", "retry"] : ["retry", "retry", "retry"]);
    expect(verdict).toHaveProperty("error", "the handler ran longer than 15 minutes");
    await vi.waitFor(async () => expect(await seen(binding)).toMatchObject({ ended: true }));
  }
  await scheduler.wait(50);
  expect(log).not.toHaveBeenCalled();
});

it("waits for every function of a consumer one of whose calls once came after the end", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const linger: Step[] = [["linger"], ["wait", 30], ["retry", 1]];
  expect(words(await deliver("CLASS", 2, linger))).toEqual(["ack", "ack"]);
  await vi.waitFor(() => expect(log).toHaveBeenCalledWith(expect.stringContaining("after the end of its handler")));
  expect(words(await deliver("CLASS", 2, linger))).toEqual(["ack", "retry"]);
  expect(
    words(
      await deliver("CLASS", 2, [
        ["ack", 0],
        ["retry", 1],
        ["throw", "no"],
      ]),
    ),
  ).toEqual(["ack", "retry"]);
});
