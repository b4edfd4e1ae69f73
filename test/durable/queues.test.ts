import { describe, expect, it } from "vitest";
import {
  addConsumer,
  call,
  createQueue,
  envelope,
  freshName,
  freshQueue,
  getQueue,
  MOUNTS,
  QUEUES,
  refused,
  result,
  type Queue,
} from "./support.ts";

const DEFAULTS = { delivery_delay: 0, delivery_paused: false, message_retention_period: 345_600 };

describe.each(MOUNTS)("below %s, a queue", (mount) => {
  it("is created, found by id and by name, listed, changed and deleted", async () => {
    const name = freshName();
    const queue = await result<Queue>("POST", mount, { queue_name: name });
    expect(queue).toMatchObject({
      queue_name: name,
      producers: [],
      producers_total_count: 0,
      consumers: [],
      consumers_total_count: 0,
      settings: DEFAULTS,
    });
    expect(queue.queue_id).toMatch(/^[0-9a-f]{32}$/);
    expect(queue.modified_on).toBe(queue.created_on);
    expect(new Date(queue.created_on).toISOString()).toBe(queue.created_on);

    for (const key of [queue.queue_id, name]) expect(await result("GET", `${mount}/${key}`)).toMatchObject(queue);
    const { result: listed, result_info } = await envelope<Queue[]>("GET", `${mount}?name=${name}`);
    expect(listed).toEqual([queue]);
    expect(result_info).toEqual({ page: 1, per_page: 1, count: 1, total_count: 1 });

    const changed = await result<Queue>("PATCH", `${mount}/${queue.queue_id}`, { settings: { delivery_delay: 7 } });
    expect(changed.settings).toEqual({ ...DEFAULTS, delivery_delay: 7 });
    expect(await result<Queue>("DELETE", `${mount}/${name}`)).toEqual(changed);
    for (const key of [queue.queue_id, name]) await refused(call("GET", `${mount}/${key}`), 404, 10104);
    expect((await envelope<Queue[]>("GET", `${mount}?name=${name}`)).result).toEqual([]);
  });
});

it.each(["a", "0", "a-b", "a--b", "9z", "a".repeat(63), "0123456789abcdef", "f".repeat(31), "f".repeat(33)])(
  "takes the name %j",
  async (name) => {
    expect((await createQueue(name)).queue_name).toBe(name);
  },
);

it.each([
  "",
  "-",
  "-a",
  "a-",
  "A",
  "a_b",
  "a.b",
  "a b",
  "ä",
  "a\n",
  "a".repeat(64),
  "f".repeat(32),
  null,
  7,
  ["a"],
  undefined,
])("refuses the name %j, and says what a name is", async (name) => {
  const text = await refused(call("POST", QUEUES, { queue_name: name }), 400, 10400);
  expect(text).toContain("queue_name");
  expect(text).toContain("63");
});

it("refuses a name that is taken", async () => {
  const queue = await freshQueue();
  const text = await refused(call("POST", QUEUES, { queue_name: queue.queue_name }), 409, 11009);
  expect(text).toContain(queue.queue_name);
  expect(text).toContain(queue.queue_id);
  const other = await freshQueue();
  const rename = call("PATCH", `${QUEUES}/${other.queue_id}`, { queue_name: queue.queue_name });
  await refused(rename, 409, 11009);
  expect(await getQueue(other.queue_id)).toMatchObject(other);
});

it("says how to declare a queue that there is not", async () => {
  const text = await refused(call("GET", `${QUEUES}/nowhere`), 404, 10104);
  expect(text).toContain("nowhere");
  expect(text).toContain('POST /api/v1/queues {"queue_name": "nowhere"}');
  expect(text).toContain("manifest");
  await refused(call("GET", `${QUEUES}/${"0".repeat(32)}`), 404, 10104);
});

it.each(["Nowhere", "a_b", "0".repeat(64), "-", "%20", "a%2Fb"])("calls %j no id and no name", async (key) => {
  for (const [method, path, body] of [
    ["GET", ""],
    ["DELETE", ""],
    ["PATCH", "", {}],
    ["GET", "/metrics"],
    ["GET", "/consumers"],
    ["POST", "/messages", { body: 1 }],
    ["POST", "/messages/pull", {}],
  ] as const) {
    await refused(call(method, `${QUEUES}/${key}${path}`, body), 400, 10107);
  }
});

it("changes with PATCH only what is given", async () => {
  const { queue_id } = await freshQueue({ delivery_delay: 5, delivery_paused: true, message_retention_period: 60 });
  const patch = (body: unknown) => result<Queue>("PATCH", `${QUEUES}/${queue_id}`, body);
  expect((await patch({ settings: { delivery_paused: false } })).settings).toEqual({
    delivery_delay: 5,
    delivery_paused: false,
    message_retention_period: 60,
  });
  const name = freshName();
  expect(await patch({ queue_name: name })).toMatchObject({ queue_name: name, settings: { delivery_delay: 5 } });
});

it("returns with PUT everything to its default that is not given, but for the name", async () => {
  const queue = await freshQueue({ delivery_delay: 5, delivery_paused: true, message_retention_period: 60 });
  const put = (body: unknown) => result<Queue>("PUT", `${QUEUES}/${queue.queue_id}`, body);
  expect(await put({ settings: { delivery_delay: 9 } })).toMatchObject({
    queue_name: queue.queue_name,
    settings: { ...DEFAULTS, delivery_delay: 9 },
  });
  expect((await put({})).settings).toEqual(DEFAULTS);
});

it("is not modified by a change that changes nothing", async () => {
  const queue = await freshQueue({ delivery_delay: 5 });
  const same = { queue_name: queue.queue_name, settings: { delivery_delay: 5 } };
  expect(await result("PATCH", `${QUEUES}/${queue.queue_id}`, same)).toEqual(queue);
  expect(await result("PUT", `${QUEUES}/${queue.queue_id}`, same)).toEqual(queue);
  expect(await result("PATCH", `${QUEUES}/${queue.queue_id}`, {})).toEqual(queue);
});

it("keeps its messages when it is renamed, and goes by its new name alone", async () => {
  const queue = await freshQueue();
  await result("POST", `${QUEUES}/${queue.queue_name}/messages`, { body: "kept", content_type: "text" });
  const name = freshName();
  await result("PATCH", `${QUEUES}/${queue.queue_name}`, { queue_name: name });
  await refused(call("POST", `${QUEUES}/${queue.queue_name}/messages`, { body: 1 }), 404, 10104);
  const { messages } = await result<{ messages: { body: string }[] }>("POST", `${QUEUES}/${name}/messages/peek`);
  expect(messages.map(({ body }) => body)).toEqual(["kept"]);
  // The old name is free, and another queue.
  const successor = await createQueue(queue.queue_name);
  expect(successor.queue_id).not.toBe(queue.queue_id);
  await result("POST", `${QUEUES}/${queue.queue_name}/messages`, { body: 1 });
  for (const key of [name, queue.queue_name]) {
    expect(await result("GET", `${QUEUES}/${key}/metrics`)).toMatchObject({ backlog_count: 1 });
  }
});

it("loses its messages when it is deleted, and takes none under the same name until it is declared again", async () => {
  const queue = await freshQueue();
  const path = `${QUEUES}/${queue.queue_name}/messages`;
  await result("POST", path, { body: 1 });
  await result("DELETE", `${QUEUES}/${queue.queue_id}`);
  await refused(call("POST", path, { body: 2 }), 404, 10104);
  await createQueue(queue.queue_name);
  expect(await result("GET", `${QUEUES}/${queue.queue_name}/metrics`)).toMatchObject({ backlog_count: 0 });
  await result("POST", path, { body: 3 });
  expect(await result("GET", `${QUEUES}/${queue.queue_name}/metrics`)).toMatchObject({ backlog_count: 1 });
});

it("is not deleted while it takes the dead letters of another, and the refusal names whose", async () => {
  const [source, target] = [await freshQueue(), await freshQueue()];
  const consumer = await addConsumer(source.queue_id, { type: "http_pull", dead_letter_queue: target.queue_name });
  const text = await refused(call("DELETE", `${QUEUES}/${target.queue_id}`), 409, 10409);
  expect(text).toContain('"pull"');
  expect(text).toContain(source.queue_name);
  // A rename shows at the consumer, which holds on to the queue itself.
  const name = freshName();
  await result("PATCH", `${QUEUES}/${target.queue_id}`, { queue_name: name });
  expect((await getQueue(source.queue_id)).consumers).toMatchObject([{ dead_letter_queue: name }]);
  await result("DELETE", `${QUEUES}/${source.queue_id}/consumers/${consumer.consumer_id}`);
  await result("DELETE", `${QUEUES}/${target.queue_id}`);
});

it("is listed by name, all at once or page by page", async () => {
  const names = Array.from({ length: 5 }, (_, index) => `page-${index}`);
  for (const name of names) await createQueue(name);
  const all = (await envelope<Queue[]>("GET", QUEUES)).result.map(({ queue_name }) => queue_name);
  expect(all).toEqual([...all].sort());
  for (const name of names) expect(all).toContain(name);

  const paged: string[] = [];
  for (let page = 1; ; page++) {
    const { result: queues, result_info } = await envelope<Queue[]>("GET", `${QUEUES}?page=${page}&per_page=2`);
    expect(result_info).toMatchObject({ page, count: queues.length, total_count: all.length });
    if (queues.length === 0) break;
    paged.push(...queues.map(({ queue_name }) => queue_name));
  }
  expect(paged).toEqual(all);
  // Several names at once, as wrangler asks.
  const some = await envelope<Queue[]>("GET", `${QUEUES}?name=page-3&name=page-1&name=page-9`);
  expect(some.result.map(({ queue_name }) => queue_name)).toEqual(["page-1", "page-3"]);
  for (const query of ["page=0", "page=x", "page=1.5", "page=1&per_page=0", "page=1&per_page=1001"]) {
    await refused(call("GET", `${QUEUES}?${query}`), 400, 10400);
  }
});
