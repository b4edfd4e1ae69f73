import { describe, expect, it } from "vitest";
import {
  addConsumer,
  call,
  createQueue,
  freshName,
  freshQueue,
  getQueue,
  QUEUES,
  refused,
  result,
  type Consumer,
  type Queue,
} from "./support.ts";

const MANIFESTS = "/api/v1/manifests";

interface Applied {
  name: string;
  changed: boolean;
  queues: (Queue & { created: boolean; not_honoured: NotHonoured[] })[];
  removed_consumers: Consumer[];
}
interface NotHonoured {
  key: string;
  value: unknown;
  reason: string;
  replacement?: string;
}

function apply(name: string, queues: Record<string, unknown>): Promise<Applied> {
  return result("POST", MANIFESTS, { name, queues });
}

function tryApply(name: string, queues: Record<string, unknown>): Promise<Response> {
  return call("POST", MANIFESTS, { name, queues });
}

/** The version that the objects of a queue are told, which is not on the wire: a change of it shows as a modification. */
async function modified(...names: string[]): Promise<string[]> {
  return Promise.all(names.map(async (name) => (await getQueue(name)).modified_on));
}

it("declares every queue that it names, dead-letter queues included, and answers what holds now", async () => {
  const [sent, consumed, dead] = [freshName(), freshName(), freshName()];
  const applied = await apply("orders-worker", {
    producers: [{ binding: "OUT", queue: sent }],
    consumers: [{ queue: consumed, max_batch_size: 7, max_batch_timeout: 2, dead_letter_queue: dead }],
  });
  expect(applied).toMatchObject({ name: "orders-worker", changed: true, removed_consumers: [] });
  expect(applied.queues.map(({ queue_name, created }) => [queue_name, created])).toEqual([
    [sent, true],
    [consumed, true],
    [dead, true],
  ]);
  const [outbox, inbox] = applied.queues;
  expect(outbox).toMatchObject({ producers: [{ type: "worker", script: "orders-worker" }], producers_total_count: 1 });
  expect(inbox?.consumers).toMatchObject([
    {
      name: "orders-worker",
      type: "worker",
      binding: "ORDERS_WORKER",
      dead_letter_queue: dead,
      declared_by: "orders-worker",
      settings: { batch_size: 7, max_wait_time_ms: 2000, max_retries: 3, max_concurrency: 1, retry_delay: 0 },
    },
  ]);
  expect(await getQueue(consumed)).toMatchObject({ consumers: inbox?.consumers, settings: inbox?.settings });
});

it("names each key that has no effect, with the reason and what to write instead", async () => {
  const [sent, pulled] = [freshName(), freshName()];
  const { queues } = await apply("mail", {
    producers: [{ binding: "OUT", queue: sent, delivery_delay: 5, remote: false }],
    consumers: [
      { queue: sent, visibility_timeout_ms: 5 },
      { queue: pulled, type: "http_pull", max_concurrency: 3, max_batch_timeout: 1, visibility_timeout_ms: 9000 },
    ],
  });
  const keys = queues.map(({ not_honoured }) => not_honoured.map(({ key, value }) => [key, value]));
  expect(keys).toEqual([
    [
      ["queues.producers[0].binding", "OUT"],
      ["queues.producers[0].delivery_delay", 5],
      ["queues.producers[0].remote", false],
      ["queues.consumers[0].visibility_timeout_ms", 5],
    ],
    [
      ["queues.consumers[1].max_batch_timeout", 1],
      ["queues.consumers[1].max_concurrency", 3],
    ],
  ]);
  for (const { reason } of queues.flatMap(({ not_honoured }) => not_honoured)) expect(reason).not.toBe("");
  expect(queues[0]?.not_honoured[0]?.replacement).toBe(
    `[[services]]\nbinding = "OUT"\nservice = "waggle"\nentrypoint = "Queue"\nprops = { queue = "${sent}" }\n`,
  );
  expect(queues[1]?.consumers).toMatchObject([{ type: "http_pull", settings: { visibility_timeout_ms: 9000 } }]);
});

it("calls the queue of a producer that names none as wrangler does", async () => {
  const { queues } = await apply("my-worker", { producers: [{ binding: "JOBS_OUT" }] });
  expect(queues.map(({ queue_name }) => queue_name)).toEqual(["my-worker-jobs-out"]);
});

it("changes nothing when it is applied again", async () => {
  const [consumed, dead] = [freshName(), freshName()];
  const queues = {
    producers: [{ binding: "OUT", queue: consumed }],
    consumers: [{ queue: consumed, max_retries: 1, dead_letter_queue: dead }],
  };
  const first = await apply("orders-worker", queues);
  const times = await modified(consumed, dead);
  const second = await apply("orders-worker", queues);
  expect(second).toMatchObject({ changed: false, removed_consumers: [] });
  expect(second.queues).toEqual(first.queues.map((queue) => ({ ...queue, created: false })));
  expect(await modified(consumed, dead)).toEqual(times);
});

it("is the Worker's whole declaration: consumers that it no longer names go, queues stay", async () => {
  const [kept, left] = [freshName(), freshName()];
  const name = "mail";
  await apply(name, {
    producers: [{ binding: "OUT", queue: left }],
    consumers: [{ queue: kept }, { queue: left, max_retries: 9 }],
  });
  const byHand = await addConsumer(left, { type: "http_pull" });
  const applied = await apply(name, { consumers: [{ queue: kept }] });
  expect(applied.changed).toBe(true);
  expect(applied.removed_consumers).toMatchObject([{ queue_name: left, name: "mail", settings: { max_retries: 9 } }]);
  expect(await getQueue(left)).toMatchObject({ consumers: [byHand], producers: [] });
  const [consumer] = (await getQueue(kept)).consumers;
  // A key that is gone returns to its default.
  await apply(name, { consumers: [{ queue: kept, max_batch_size: 50 }] });
  const { queues } = await apply(name, { consumers: [{ queue: kept }] });
  expect(queues[0]?.consumers).toEqual([consumer]);
  expect((await apply(name, {})).removed_consumers).toEqual([consumer]);
  expect(await getQueue(kept)).toMatchObject({ consumers: [] });
});

describe("a consumer that somebody else holds", () => {
  it("is refused, naming the holder, and nothing of the manifest is applied", async () => {
    const [shared, other] = [freshName(), freshName()];
    const pull = { queue: shared, type: "http_pull" };
    await apply("first", { consumers: [pull] });
    const before = await getQueue(shared);
    const text = await refused(
      tryApply("second", { consumers: [{ queue: other, type: "http_pull" }, pull] }),
      409,
      10409,
    );
    for (const word of ['"pull"', shared, '"first"']) expect(text).toContain(word);
    expect(await getQueue(shared)).toEqual(before);
    await refused(call("GET", `${QUEUES}/${other}`), 404, 10104);
    // Its holder gives it up.
    await apply("first", {});
    await apply("second", { consumers: [pull] });
    expect((await getQueue(shared)).consumers).toMatchObject([{ declared_by: "second" }]);
  });

  it("is refused when it was declared by hand and differs", async () => {
    const { queue_name } = await freshQueue();
    await addConsumer(queue_name, { type: "http_pull", settings: { max_retries: 9 } });
    await refused(tryApply("third", { consumers: [{ queue: queue_name, type: "http_pull" }] }), 409, 10409);
    await apply("third", { consumers: [{ queue: queue_name, type: "http_pull", max_retries: 9 }] });
    expect((await getQueue(queue_name)).consumers).toMatchObject([{ declared_by: "third" }]);
  });

  it("is taken over by the Worker that it calls", async () => {
    const { queue_name } = await freshQueue();
    const byHand = await addConsumer(queue_name, { type: "worker", script_name: "mail", settings: { max_retries: 9 } });
    const { changed, queues } = await apply("mail", { consumers: [{ queue: queue_name }] });
    expect(changed).toBe(true);
    expect(queues[0]?.consumers).toMatchObject([
      { consumer_id: byHand.consumer_id, declared_by: "mail", settings: { max_retries: 3 } },
    ]);
  });
});

it("repairs what was changed by hand", async () => {
  const queue = freshName();
  const tables = { consumers: [{ queue, max_retries: 1 }] };
  const { queues } = await apply("mail", tables);
  const [consumer] = queues[0]?.consumers ?? [];
  const path = `${QUEUES}/${queue}/consumers/${consumer?.consumer_id}`;
  await result("PUT", path, { type: "worker", script_name: "mail", settings: { max_retries: 50 } });
  expect((await apply("mail", tables)).changed).toBe(true);
  expect((await getQueue(queue)).consumers).toEqual([consumer]);
});

it.each<[problem: string, name: unknown, queues: unknown, named: string]>([
  ["no name", undefined, {}, "name"],
  ["no queues", "mail", undefined, "queues"],
  ["another table", "mail", { kv: [] }, "kv"],
  ["an unknown key of a producer", "mail", { producers: [{ binding: "A", queue: "q", delay: 3 }] }, "delay"],
  ["an unknown key of a consumer", "mail", { consumers: [{ queue: "q", batch: 3 }] }, "batch"],
  ["a bad queue", "mail", { consumers: [{ queue: "Q" }] }, "queues.consumers[0].queue"],
  ["a bad dead-letter queue", "mail", { consumers: [{ queue: "q", dead_letter_queue: "" }] }, "dead_letter_queue"],
  ["itself as the dead-letter queue", "mail", { consumers: [{ queue: "q", dead_letter_queue: "q" }] }, "itself"],
  ["a bad binding", "mail", { producers: [{ binding: "a-b", queue: "q" }] }, "binding"],
  ["a Worker without a binding", "nobody", { consumers: [{ queue: "q" }] }, "MAIL, ORDERS_WORKER"],
  ["a consumer twice", "mail", { consumers: [{ queue: "q" }, { queue: "q", max_retries: 1 }] }, "twice"],
  ["a type that there is not", "mail", { consumers: [{ queue: "q", type: "r2" }] }, "type"],
])("refuses %s, and declares nothing", async (_, name, queues, named) => {
  expect(await refused(call("POST", MANIFESTS, { name, queues }), 400, 10400)).toContain(named);
  await refused(call("GET", `${QUEUES}/q`), 404, 10104);
});

it("leaves queues that are there as they are", async () => {
  const queue = await createQueue(freshName(), { delivery_delay: 9 });
  const { queues, changed } = await apply("sender", { producers: [{ binding: "OUT", queue: queue.queue_name }] });
  expect(changed).toBe(true);
  expect(queues).toMatchObject([{ queue_id: queue.queue_id, created: false, settings: { delivery_delay: 9 } }]);
});
