import { expect, it } from "vitest";
import type { Decision } from "../../src/delivery/batch.ts";
import { fold } from "../../src/delivery/fold.ts";
import type { Call } from "../../src/delivery/protocol.ts";
import { retryDelay } from "../../src/delivery/retry-delay.ts";

const ack = (message: number): Call => ({ kind: "ack", message, delaySeconds: null });
const retry = (message: number, delaySeconds: number | null = null): Call => ({ kind: "retry", message, delaySeconds });
const ackAll: Call = { kind: "ack", message: null, delaySeconds: null };
const retryAll = (delaySeconds: number | null = null): Call => ({ kind: "retry", message: null, delaySeconds });

/** `"ack"` or the delay of a retry, `"default"` where it has none. */
function short(decisions: readonly Decision[]): (string | number)[] {
  return decisions.map((decision) => (decision.kind === "ack" ? "ack" : (decision.delaySeconds ?? "default")));
}

const succeeded = (count: number, ...calls: Call[]) => short(fold(count, calls, false));
const failed = (count: number, ...calls: Call[]) => short(fold(count, calls, true));

function lastDelay(retries: readonly Call[]): number | null | undefined {
  return retries.findLast(({ delaySeconds }) => delaySeconds !== null)?.delaySeconds;
}

/** The rules once more, as a statement about each message by itself instead of a walk over the calls. */
function naive(count: number, calls: readonly Call[], hasFailed: boolean): (string | number)[] {
  const onBatch = calls.findIndex(({ message }) => message === null);
  const batch = onBatch === -1 ? undefined : calls[onBatch];
  return Array.from({ length: count }, (_, index) => {
    const own = calls.map((call, at) => ({ ...call, at })).filter(({ message }) => message === index);
    const before = own.filter(({ at }) => batch === undefined || at < onBatch);
    const kind = before[0]?.kind ?? batch?.kind ?? (hasFailed ? "retry" : "ack");
    if (kind === "ack") return "ack";
    const heard = batch?.kind === "ack" ? before : own;
    const ownDelay = lastDelay(heard.filter((call) => call.kind === "retry"));
    const batchDelay =
      batch?.kind === "retry" ? lastDelay(calls.filter((c) => c.message === null && c.kind === "retry")) : null;
    return ownDelay ?? batchDelay ?? "default";
  });
}

it("agrees with an independent statement of the rules in every order of up to four calls on two messages", () => {
  let checked = 0;
  const visit = (calls: Call[]) => {
    for (const hasFailed of [false, true]) {
      const wanted = naive(2, calls, hasFailed);
      const got = short(fold(2, calls, hasFailed));
      if (JSON.stringify(got) !== JSON.stringify(wanted)) expect({ calls, hasFailed, got }).toEqual({ wanted });
      checked++;
    }
    if (calls.length === 4) return;
    // A delay of its own for each place, so that it shows whose delay has won.
    const delay = 10 * (calls.length + 1);
    const choices = [0, 1].flatMap((i) => [ack(i), retry(i), retry(i, delay + i)]);
    for (const call of [...choices, ackAll, retryAll(), retryAll(delay + 5)]) visit([...calls, call]);
  };
  visit([]);
  expect(checked).toBe(2 * (1 + 9 + 9 ** 2 + 9 ** 3 + 9 ** 4));
});

it("acks what nobody decided after a success, and retries it after a failure", () => {
  expect(succeeded(2)).toEqual(["ack", "ack"]);
  expect(failed(2)).toEqual(["default", "default"]);
  expect(failed(2, retry(0, 9))).toEqual([9, "default"]);
});

it("lets the first call on a message win", () => {
  expect(succeeded(1, ack(0), retry(0, 5))).toEqual(["ack"]);
  expect(succeeded(1, retry(0, 5), ack(0))).toEqual([5]);
});

it("takes a second retry of a message as another delay", () => {
  expect(succeeded(1, retry(0, 5), retry(0, 6))).toEqual([6]);
  expect(succeeded(1, retry(0, 5), retry(0))).toEqual([5]);
  expect(succeeded(1, retry(0), retry(0, 0))).toEqual([0]);
});

it("ignores everything after ackAll", () => {
  expect(failed(2, ackAll, retry(0), retryAll(3))).toEqual(["ack", "ack"]);
});

it("ignores an ack after retryAll, and takes a retry as the delay of that message", () => {
  expect(succeeded(2, retryAll(3), ack(0), ackAll, retry(1, 7))).toEqual([3, 7]);
});

it("takes a second retryAll as another delay of the batch", () => {
  expect(succeeded(2, retryAll(3), retryAll(4), retry(1, 7))).toEqual([4, 7]);
});

it("lets a call on a message before one on the batch stand", () => {
  expect(succeeded(2, retry(0), ackAll)).toEqual(["default", "ack"]);
  expect(succeeded(2, ack(0), retryAll(8))).toEqual(["ack", 8]);
  expect(succeeded(2, ack(0), retryAll(8), retry(0, 2))).toEqual(["ack", 8]);
});

it("gives a retried message its own delay, else that of the batch", () => {
  expect(succeeded(2, retry(0), retry(1, 2), retryAll(8))).toEqual([8, 2]);
});

it("keeps explicit acks through a failure", () => {
  expect(failed(2, ack(1))).toEqual(["default", "ack"]);
  expect(failed(2, ackAll)).toEqual(["ack", "ack"]);
});

it("takes whole delays from 0 to a day and says what is wrong with others", () => {
  expect([undefined, {}, { delaySeconds: null }].map(retryDelay)).toEqual([null, null, null]);
  expect([0, 1, 86_400].map((delaySeconds) => retryDelay({ delaySeconds }))).toEqual([0, 1, 86_400]);
  for (const delaySeconds of [-1, 86_401, 1.5, "60", Number.NaN]) {
    expect(() => retryDelay({ delaySeconds })).toThrow("must be a whole number of seconds from 0 to 86400");
  }
});
