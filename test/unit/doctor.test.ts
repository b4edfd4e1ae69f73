import { expect, it } from "vitest";
import { findingsOf, type Queue } from "../../src/operations/doctor.ts";

const CONSUMER = { consumer_id: "c", name: "mails", type: "worker", script_name: "mails" };
const STATE = {
  consumer_id: "c",
  backlog_count: 0,
  batches_out: 0,
  last_outcome: null,
  last_error: null,
  retry_at: null,
  dead_letters_waiting: 0,
} as const;

/** A queue with one consumer and nothing to complain of. */
function queue({
  status = {},
  state = {},
  ...rest
}: Partial<Omit<Queue, "status">> & { status?: object; state?: object }): Queue {
  return {
    queue_name: "q",
    producers: [],
    consumers: [CONSUMER],
    settings: { delivery_paused: false },
    ...rest,
    status: {
      ready_count: 0,
      delayed_count: 0,
      leased_count: 0,
      oldest_message_age_seconds: null,
      next_alarm: null,
      dropped: { expired: 0, exhausted: 0 },
      partitions: [{ partition: "Default", consumers: [{ ...STATE, ...state }] }],
      unreachable: [],
      ...status,
    },
  } as Queue;
}

it.each<[string, Queue, string, string]>([
  ["nothing", queue({}), "ok", "nothing waits"],
  [
    "a backlog and its alarm",
    queue({ status: { ready_count: 2, oldest_message_age_seconds: 9, next_alarm: "T" } }),
    "ok",
    "2 messages, the oldest 9 s old; the next alarm is at T",
  ],
  ["a pause", queue({ settings: { delivery_paused: true } }), "problem", "delivery is paused"],
  ["no consumer", queue({ consumers: [], status: { leased_count: 1 } }), "warning", "1 messages wait for one"],
  ["a lost alarm", queue({ status: { delayed_count: 3 } }), "problem", "no alarm is set"],
  [
    "an absent partition",
    queue({ status: { unreachable: [{ partition: "p", error: "gone" }] } }),
    "problem",
    "the partition p cannot be asked: gone",
  ],
  [
    "an unreachable Worker",
    queue({ state: { last_outcome: "unreachable", last_error: "no binding" } }),
    "problem",
    "cannot be reached: no binding",
  ],
  [
    "a failing handler",
    queue({ state: { last_outcome: "error", last_error: "boom" } }),
    "problem",
    "failed at its last delivery: boom",
  ],
  [
    "old messages that went",
    queue({ status: { dropped: { expired: 4, exhausted: 0 } } }),
    "warning",
    "dropped for their age",
  ],
  [
    "messages given up",
    queue({ status: { dropped: { expired: 0, exhausted: 5 } } }),
    "warning",
    "no dead-letter queue",
  ],
  ["dead letters that wait", queue({ state: { dead_letters_waiting: 6 } }), "warning", "6 dead letters"],
])("finds %s", (_, given, level, what) => {
  const findings = findingsOf(given);
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({ queue: "q", level, what: expect.stringContaining(what) });
  // What is wrong comes with what to do about it.
  expect(findings[0]?.fix === null).toBe(level === "ok");
});
