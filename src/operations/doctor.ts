import * as z from "zod/mini";
import { v1, type Api } from "./api.ts";
import { field, operation, type Operation } from "./operation.ts";

/** Why does nothing arrive? */

export interface Finding {
  /** null = the broker as a whole. */
  queue: string | null;
  level: "ok" | "warning" | "problem";
  what: string;
  /** What to do about it; null = nothing. */
  fix: string | null;
}

/** As much of a queue's record and status as a diagnosis takes. */
export interface Queue {
  queue_name: string;
  producers: unknown[];
  consumers: { consumer_id: string; name: string; type: string; script_name?: string; url?: string }[];
  settings: { delivery_paused: boolean };
  status: {
    ready_count: number;
    delayed_count: number;
    leased_count: number;
    oldest_message_age_seconds: number | null;
    next_alarm: string | null;
    dropped: { expired: number; exhausted: number };
    partitions: { partition: string; consumers: ConsumerStatus[] }[];
    unreachable: { partition: string; error: string }[];
  };
}

interface ConsumerStatus {
  consumer_id: string;
  backlog_count: number;
  batches_out: number;
  last_outcome: "ok" | "error" | "unreachable" | null;
  last_error: string | null;
  retry_at: string | null;
  dead_letters_waiting: number;
}

export const doctorOperation: Operation = operation({
  name: "doctor",
  summary: "Look for reasons why messages do not arrive: declaration, consumers, pause, last error, backlog, alarm.",
  input: { queue: field(z.optional(z.string()), "one durable queue; all of them when absent") },
  args: ["queue"],
  run: async (api, { queue }) => ({ findings: await diagnose(api, queue) }),
});

async function diagnose(api: Api, only: string | undefined): Promise<Finding[]> {
  const health = await api.get<{ version: string; owners: number }>("/health");
  const findings = [ok(null, `the broker answers: version ${health.version}, ${health.owners} owners`)];
  const names = only === undefined ? await queueNames(api) : [only];
  if (names.length === 0)
    findings.push(warning(null, "no durable queue is declared", "declare one: waggle queue create NAME"));
  for (const name of names) findings.push(...findingsOf(await api.get<Queue>(v1`queues/${name}`)));
  return findings;
}

async function queueNames(api: Api): Promise<string[]> {
  return (await api.get<{ queue_name: string }[]>(v1`queues`)).map(({ queue_name }) => queue_name);
}

/** What there is to say of one queue. */
export function findingsOf(queue: Queue): Finding[] {
  const { queue_name: name, consumers, settings, status } = queue;
  const backlog = status.ready_count + status.delayed_count + status.leased_count;
  const found: Finding[] = [];
  if (settings.delivery_paused) {
    found.push(
      problem(name, `delivery is paused, with ${status.ready_count} messages ready`, `waggle queue resume ${name}`),
    );
  }
  if (consumers.length === 0) {
    const what = `it has no consumer${backlog > 0 ? `, and ${backlog} messages wait for one` : ""}`;
    found.push(warning(name, what, `waggle apply wrangler.toml, or waggle queue consume ${name} --worker NAME`));
  }
  for (const { partition, error } of status.unreachable) {
    found.push(problem(name, `the partition ${partition} cannot be asked: ${error}`, "look again in a moment"));
  }
  for (const { partition, consumers: states } of status.partitions) {
    for (const state of states) found.push(...consumerFindings(queue, partition, state));
  }
  if (status.delayed_count > 0 && status.next_alarm === null) {
    const what = `${status.delayed_count} messages are delayed, and no alarm is set to wake the queue for them`;
    found.push(problem(name, what, `a look sets it again: waggle queue info ${name}`));
  }
  if (status.dropped.expired > 0) {
    found.push(
      warning(
        name,
        `${status.dropped.expired} messages were dropped for their age`,
        `a longer retention: waggle queue set ${name} --retention-seconds N`,
      ),
    );
  }
  if (status.dropped.exhausted > 0) {
    found.push(
      warning(
        name,
        `${status.dropped.exhausted} messages were given up with no dead-letter queue to go to`,
        "declare a dead_letter_queue",
      ),
    );
  }
  return found.length > 0 ? found : [ok(name, calm(status, backlog))];
}

function calm({ oldest_message_age_seconds: age, next_alarm: alarm }: Queue["status"], backlog: number): string {
  const waiting = backlog === 0 ? "nothing waits" : `${backlog} messages, the oldest ${age ?? 0} s old`;
  return alarm === null ? waiting : `${waiting}; the next alarm is at ${alarm}`;
}

function consumerFindings({ queue_name: name, consumers }: Queue, partition: string, state: ConsumerStatus): Finding[] {
  const consumer = consumers.find(({ consumer_id }) => consumer_id === state.consumer_id);
  if (consumer === undefined) return [];
  const who = `consumer ${consumer.name} of partition ${partition}`;
  const found: Finding[] = [];
  if (state.last_outcome === "unreachable") {
    const when = state.retry_at === null ? "" : `, tried again at ${state.retry_at}`;
    found.push(problem(name, `${who} cannot be reached${when}: ${state.last_error ?? ""}`, fixFor(consumer)));
  } else if (state.last_outcome === "error") {
    found.push(
      problem(
        name,
        `${who} failed at its last delivery: ${state.last_error ?? ""}`,
        "mend the handler; the messages are retried",
      ),
    );
  }
  if (consumer.type === "http_pull" && state.backlog_count > 0 && state.batches_out === 0) {
    found.push(warning(name, `${state.backlog_count} messages wait until ${who} pulls them`, null));
  }
  if (state.dead_letters_waiting > 0) {
    found.push(
      warning(
        name,
        `${state.dead_letters_waiting} dead letters of ${who} wait for their queue`,
        "look at the dead-letter queue: waggle doctor NAME",
      ),
    );
  }
  return found;
}

function fixFor({ type, script_name, url }: Queue["consumers"][number]): string {
  if (type === "http") return `see that ${url ?? "its URL"} answers`;
  return `bind the Worker ${script_name ?? ""} in the broker's wrangler.toml, and see that it has a queue() handler`;
}

function ok(queue: string | null, what: string): Finding {
  return { queue, level: "ok", what, fix: null };
}

function warning(queue: string | null, what: string, fix: string | null): Finding {
  return { queue, level: "warning", what, fix };
}

function problem(queue: string | null, what: string, fix: string | null): Finding {
  return { queue, level: "problem", what, fix };
}
