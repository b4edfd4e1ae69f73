import { expect, it } from "vitest";
import {
  addConsumer,
  call,
  freshName,
  freshQueue,
  getQueue,
  QUEUES,
  refused,
  result,
  type Consumer,
} from "./support.ts";

const PATH = (queue: string, consumer = "") => `${QUEUES}/${queue}/consumers${consumer === "" ? "" : `/${consumer}`}`;

it("reaches a Worker by the binding of its name, or by its name in capitals", async () => {
  const { queue_id } = await freshQueue();
  expect(await addConsumer(queue_id, { type: "worker", script_name: "orders-worker" })).toMatchObject({
    name: "orders-worker",
    type: "worker",
    script_name: "orders-worker",
    binding: "ORDERS_WORKER",
    dead_letter_queue: null,
    declared_by: null,
  });
  const named = { type: "worker", script_name: "ORDERS_WORKER" };
  expect(await addConsumer(queue_id, named)).toMatchObject({ name: "ORDERS_WORKER", binding: "ORDERS_WORKER" });
});

it.each(["orders", "orders_worker", "Orders-Worker", "ASSETS", "DECLARATIONS", "OWNER", "AUTH", "toString"])(
  "refuses the script_name %j, which no service binding matches, and lists those there are",
  async (script_name) => {
    const { queue_id } = await freshQueue();
    const text = await refused(call("POST", PATH(queue_id), { type: "worker", script_name }), 400, 10400);
    expect(text).toContain(JSON.stringify(script_name));
    expect(text).toContain("MAIL, ORDERS_WORKER");
  },
);

it("takes what wrangler sends of an environment, and no environment", async () => {
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, { type: "worker", script_name: "mail", environment_name: "" });
  const body = { type: "worker", script_name: "mail", environment_name: "staging" };
  expect(await refused(call("POST", PATH(queue_id), body), 400, 10400)).toContain("staging");
});

it("is called after its script, its URL's host, or pull", async () => {
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, { type: "worker", script_name: "mail" });
  await addConsumer(queue_id, { type: "http", url: "https://example.com:8443/in?x=1", secret: "s" });
  await addConsumer(queue_id, { type: "http_pull" });
  await addConsumer(queue_id, { type: "http_pull", name: "second" });
  // Pull consumers first: wrangler removes the first when it is told to remove "the" pull consumer.
  const { consumers, consumers_total_count } = await getQueue(queue_id);
  expect(consumers.map(({ name }) => name)).toEqual(["pull", "second", "mail", "example.com:8443"]);
  expect(consumers_total_count).toBe(4);
  expect(await result("GET", PATH(queue_id))).toEqual(consumers);
});

it("is answered as it is when the same one is posted again, and refused when another one has its name", async () => {
  const { queue_id } = await freshQueue();
  const body = { type: "http_pull", settings: { batch_size: 5 } };
  const first = await addConsumer(queue_id, body);
  expect(await addConsumer(queue_id, body)).toEqual(first);
  const inFull = { type: "http_pull", name: "pull", dead_letter_queue: null, settings: first.settings };
  expect(await addConsumer(queue_id, inFull)).toEqual(first);
  for (const other of [{ type: "http_pull" }, { type: "worker", script_name: "mail", name: "pull" }]) {
    expect(await refused(call("POST", PATH(queue_id), other), 409, 11004)).toContain('"pull"');
  }
  expect((await getQueue(queue_id)).consumers).toEqual([first]);
});

it("takes null for max_concurrency as the default, as the original's unset", async () => {
  const { queue_id } = await freshQueue();
  const body = { type: "worker", script_name: "mail", settings: { max_concurrency: null } };
  expect((await addConsumer(queue_id, body)).settings["max_concurrency"]).toBe(1);
});

it("keeps its id and may change its type and name, but takes nobody else's name", async () => {
  const { queue_id } = await freshQueue();
  const pull = await addConsumer(queue_id, { type: "http_pull" });
  await addConsumer(queue_id, { type: "worker", script_name: "mail" });
  const path = PATH(queue_id, pull.consumer_id);
  const body = { type: "worker", script_name: "orders-worker" };
  const changed = await result<Consumer>("PUT", path, body);
  expect(changed).toMatchObject({ consumer_id: pull.consumer_id, name: "orders-worker", created_on: pull.created_on });
  await refused(call("PUT", path, { type: "worker", script_name: "mail" }), 409, 11004);
  expect(await result("GET", path)).toEqual(changed);
});

it("is removed, and then is not there", async () => {
  const { queue_id } = await freshQueue();
  const consumer = await addConsumer(queue_id, { type: "http_pull" });
  const other = await freshQueue();
  for (const method of ["GET", "DELETE"]) {
    // Not by way of another queue.
    await refused(call(method, PATH(other.queue_id, consumer.consumer_id)), 404, 10404);
  }
  const path = PATH(queue_id, consumer.consumer_id);
  expect(await result("DELETE", path)).toEqual(consumer);
  await refused(call("GET", path), 404, 10404);
  await refused(call("DELETE", path), 404, 10404);
  await refused(call("PUT", path, { type: "http_pull" }), 404, 10404);
  expect((await getQueue(queue_id)).consumers).toEqual([]);
});

it("has its dead-letter queue made when it is missing, and never the queue itself", async () => {
  const queue = await freshQueue();
  const deadLetters = freshName();
  const body = { type: "http_pull", dead_letter_queue: deadLetters };
  expect(await addConsumer(queue.queue_id, body)).toMatchObject({ dead_letter_queue: deadLetters });
  expect(await getQueue(deadLetters)).toMatchObject({ queue_name: deadLetters, consumers: [] });

  const own = { type: "http_pull", name: "other", dead_letter_queue: queue.queue_name };
  const text = await refused(call("POST", PATH(queue.queue_id), own), 400, 10400);
  expect(text).toContain("dead_letter_queue");
  expect(text).toContain(queue.queue_name);
  // What is refused makes no queue either.
  const missing = freshName();
  const taken = { type: "http_pull", dead_letter_queue: missing };
  await refused(call("POST", PATH(queue.queue_id), taken), 409, 11004);
  await refused(call("GET", `${QUEUES}/${missing}`), 404, 10104);
  for (const name of ["", "A", "-", 7]) {
    await refused(call("POST", PATH(queue.queue_id), { ...own, dead_letter_queue: name }), 400, 10400);
  }
});

it("never shows the secret of an HTTP consumer, and keeps it when it is replaced without one", async () => {
  const { queue_id } = await freshQueue();
  const body = { type: "http", url: "https://example.com/hook", secret: "do-not-tell" };
  const consumer = await addConsumer(queue_id, body);
  expect(consumer).toMatchObject({ type: "http", url: "https://example.com/hook", name: "example.com" });
  const { secret: _, ...rest } = body;
  const path = PATH(queue_id, consumer.consumer_id);
  await result("PUT", path, { ...rest, settings: { max_retries: 1 } });
  await result("PUT", path, rest);
  for (const shown of [path, PATH(queue_id), `${QUEUES}/${queue_id}`, QUEUES]) {
    expect(await (await call("GET", shown)).text()).not.toContain("do-not-tell");
  }
  // It is the same consumer with the same secret still.
  expect(await addConsumer(queue_id, body)).toEqual(consumer);
  expect(await refused(call("POST", PATH(queue_id), { ...rest, name: "x" }), 400, 10400)).toContain("secret");
  await refused(call("POST", PATH(queue_id), { ...body, secret: "another" }), 409, 11004);
});

it.each(["", "example.com", "ftp://example.com", "https://me:pw@example.com", "/hook", 7, null])(
  "refuses the URL %j",
  async (url) => {
    const { queue_id } = await freshQueue();
    const text = await refused(call("POST", PATH(queue_id), { type: "http", url, secret: "s" }), 400, 10400);
    expect(text).toContain("url");
  },
);

it.each([undefined, "pull", "WORKER", null, 1])("refuses the type %j, and says which there are", async (type) => {
  const { queue_id } = await freshQueue();
  const text = await refused(call("POST", PATH(queue_id), { type }), 400, 10400);
  expect(text).toContain("type");
  for (const known of type === undefined ? [] : ["worker", "http", "http_pull"]) expect(text).toContain(known);
});
