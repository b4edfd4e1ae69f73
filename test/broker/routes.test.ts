import { expect, it } from "vitest";
import {
  ack,
  call,
  configure,
  depthPath,
  freshQueue,
  list,
  owners,
  pop,
  popOne,
  popPath,
  post,
  push,
  read,
  OWNERS,
} from "./support.ts";

/** An answer must be JSON of this status; its raw text is compared, so that the order of keys counts too. */
async function raw(answer: Promise<Response>, status: number): Promise<string> {
  const response = await answer;
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json");
  return response.text();
}

it("answers a push with 201 and the number pushed", async () => {
  const queue = freshQueue();
  expect(await raw(post("push", { queue, messages: [{ payload: 1 }, { payload: 2 }] }), 201)).toBe('{"pushed":2}');
});

it("answers a pop with the queue and its messages, not to be stored", async () => {
  const queue = freshQueue();
  await push(queue, [{ a: 1 }], "room");
  const response = await call(popPath(queue));
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(await response.text()).toMatch(
    new RegExp(
      `^\\{"queue":"${queue}","messages":\\[\\{"id":"e:[0-9a-f]{1,16}:room:\\d+","partition":"room","attempts":1,"payload":\\{"a":1\\}\\}\\]\\}$`,
    ),
  );
});

it("answers an empty pop with 200 and an empty array, whether it waited or not", async () => {
  const queue = freshQueue();
  const answers = await Promise.all([call(popPath(queue)), call(popPath(queue, { wait: true, timeout: 60 }))]);
  for (const response of answers) {
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("cache-control")).toBe("no-store");
  }
  const texts = await Promise.all(answers.map((response) => response.text()));
  expect(texts).toEqual(Array.from(texts, () => `{"queue":"${queue}","messages":[]}`));
});

it("answers an ack with one result per entry", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  expect(await raw(post("ack", { queue, acks: [{ id }, { id }] }), 200)).toBe(
    `{"results":[{"id":"${id}","outcome":"acked"},{"id":"${id}","outcome":"unknown"}]}`,
  );
});

it("answers a configure with 201 and the options as they were sent", async () => {
  const queue = freshQueue();
  const sent =
    '{"ttlSeconds":null,"windowBuffer":{"count":3,"ms":20},"policy":"dropOldest","maxLength":7,"maxBytes":0}';
  expect(await raw(post("configure", `{"queue":"${queue}","options":${sent}}`), 201)).toBe(
    `{"queue":"${queue}","options":${sent},"declared":true}`,
  );
  expect(await raw(post("configure", { queue }), 201)).toBe(`{"queue":"${queue}","options":{},"declared":true}`);
});

it("answers a reset with the number dropped", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2, 3]);
  expect(await raw(post("reset", { queue }), 200)).toBe(`{"queue":"${queue}","dropped":3}`);
});

it("answers a delete with what there was", async () => {
  const queue = freshQueue();
  const remove = () => raw(call(`/api/v1/ephemeral/queue/${queue}`, { method: "DELETE" }), 200);
  expect(await remove()).toBe(`{"queue":"${queue}","deleted":false,"declared":false}`);
  await push(queue, [1]);
  expect(await remove()).toBe(`{"queue":"${queue}","deleted":true,"declared":false}`);
  await configure(queue);
  expect(await remove()).toBe(`{"queue":"${queue}","deleted":true,"declared":true}`);
});

it("lists queues with their tier, contents, drops and effective options", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 9, leaseSeconds: 4 });
  await push(queue, ["four"]);
  await pop(queue, { group: "g" });
  const text = await raw(call("/api/v1/ephemeral/queues"), 200);
  expect(text).toContain(
    `{"queue":"${queue}","tier":"declared","depth":1,"bytes":6,"partitions":1,"groups":1,` +
      '"drops":{"bounds":0,"ttl":0,"retry":0},' +
      '"options":{"maxLength":9,"maxBytes":16777216,"policy":"reject","ttlSeconds":0,"leaseSeconds":4,"retryLimit":5,' +
      '"windowBuffer":{"ms":0,"count":0},"groupIdleSeconds":3600}}',
  );
  expect(text).toMatch(/^\{"queues":\[.*\],"count":\d+,"cellBytes":\d+\}$/);
  const { queues, count, cellBytes } = await list();
  expect(count).toBe(queues.length);
  expect(cellBytes).toBe(queues.reduce((sum, { bytes }) => sum + bytes, 0));
});

it("lists an implicit queue with the operator's defaults", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  expect(await raw(call("/api/v1/ephemeral/queues"), 200)).toContain(
    `{"queue":"${queue}","tier":"implicit","depth":1,"bytes":1,"partitions":1,"groups":0,` +
      '"drops":{"bounds":0,"ttl":0,"retry":0},' +
      '"options":{"maxLength":10000,"maxBytes":16777216,"policy":"reject","ttlSeconds":0,"leaseSeconds":30,"retryLimit":5,' +
      '"windowBuffer":{"ms":0,"count":0},"groupIdleSeconds":300}}',
  );
});

it("answers a depth by partition and group", async () => {
  const queue = freshQueue();
  await push(queue, [1, 22]);
  await push(queue, [333], "b");
  const partitions = '[{"partition":"Default","pending":2,"bytes":3},{"partition":"b","pending":1,"bytes":3}]';
  expect(await raw(call(depthPath(queue)), 200)).toBe(
    `{"queue":"${queue}","group":null,"tier":"implicit","pending":3,"partitionsPending":2,"bytes":6,"partitions":${partitions},"groups":[]}`,
  );
  await pop(queue, { group: "g", partition: "b" });
  expect(await raw(call(depthPath(queue, "g")), 200)).toBe(
    `{"queue":"${queue}","group":"g","tier":"implicit","pending":2,"partitionsPending":1,"bytes":6,` +
      `"partitions":${partitions.replace('"pending":1', '"pending":0')},"groups":[{"group":"g","pending":2,"skipped":0}]}`,
  );
});

it("answers the drop of a group with whether there was one", async () => {
  const queue = freshQueue();
  const drop = () => raw(call(`/api/v1/ephemeral/queues/${queue}/groups/g`, { method: "DELETE" }), 200);
  expect(await drop()).toBe(`{"queue":"${queue}","group":"g","deleted":false}`);
  await pop(queue, { group: "g" });
  expect(await drop()).toBe(`{"queue":"${queue}","group":"g","deleted":true}`);
});

it("answers a health check with its version and number of owners", async () => {
  const text = await raw(call("/health"), 200);
  expect(text).toMatch(new RegExp(`^\\{"status":"ok","version":"\\d+\\.\\d+\\.\\d+","owners":${OWNERS}\\}$`));
});

it("tells which owner holds which partitions", async () => {
  const queue = freshQueue();
  const partitions = Array.from({ length: 20 }, (_, i) => `p${i}`).sort();
  await Promise.all(partitions.map((partition) => push(queue, ["ab"], partition)));
  const answer = await read<{ owners: Record<string, unknown>[] }>(call(`/api/v1/system/owners?queue=${queue}`));
  expect(Object.keys(answer)).toEqual(["owners"]);
  expect(answer.owners.map(({ owner }) => owner)).toEqual(Array.from({ length: OWNERS }, (_, i) => `owner-${i}`));
  const keys = ["owner", "incarnation", "rings", "queues", "bytes", "parkedPops", "subscribers"];
  for (const view of answer.owners) {
    expect(Object.keys(view)).toEqual([...keys, "partitions"]);
    expect(view["incarnation"]).toMatch(/^[0-9a-f]{1,16}$/);
  }
  expect(answer.owners.flatMap((view) => view["partitions"]).sort()).toEqual(partitions);
  const views = await owners();
  for (const view of views) expect(Object.keys(view)).toEqual(keys);
  expect(new Set(views.map(({ incarnation }) => incarnation)).size).toBe(OWNERS);
  expect(views.reduce((sum, { rings }) => sum + rings, 0)).toBeGreaterThanOrEqual(partitions.length);
  expect(views.reduce((sum, { bytes }) => sum + bytes, 0)).toBe((await list()).cellBytes);
});

/** The value of every series. */
async function metrics(): Promise<Map<string, number>> {
  const response = await call("/metrics");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line): [string, number] => {
      const [, series = "", value = ""] = /^(\S+) (\d+)$/.exec(line) ?? [];
      expect(series, line).not.toBe("");
      return [series, Number(value)];
    }),
  );
}

it("counts in Prometheus text, summed over owners", async () => {
  const queue = freshQueue();
  const before = await metrics();
  for (const partition of ["a", "b", "c", "d"]) await push(queue, ["xyz"], partition);
  const popped = await pop(queue, { batch: 4 });
  await ack(queue, popped.slice(0, 2));
  await ack(queue, [{ ...popped.at(-1), id: popped.at(-1)?.id ?? "", status: "retry" }]);
  const after = await metrics();
  const grown = [...after].map(([series, value]): [string, number] => [series, value - (before.get(series) ?? 0)]);
  expect(Object.fromEntries(grown)).toEqual({
    waggle_ephemeral_pushed_total: 4,
    waggle_ephemeral_popped_total: 4,
    waggle_ephemeral_acked_total: 2,
    waggle_ephemeral_alarms_set_total: expect.any(Number) as number,
    waggle_ephemeral_checkpoint_rows_total: expect.any(Number) as number,
    waggle_ephemeral_redelivered_total: 1,
    'waggle_ephemeral_dropped_total{cause="bounds"}': 0,
    'waggle_ephemeral_dropped_total{cause="ttl"}': 0,
    'waggle_ephemeral_dropped_total{cause="retry"}': 0,
    'waggle_ephemeral_dropped_total{cause="group_idle"}': 0,
    waggle_ephemeral_forwarded_total: OWNERS === 1 ? 0 : (expect.any(Number) as number),
    waggle_ephemeral_handed_over_total: 0,
    waggle_ephemeral_wipes_total: 0,
    waggle_ephemeral_bytes: 10,
    waggle_ephemeral_queues: 1,
    waggle_ephemeral_parked_pops: 0,
    waggle_ephemeral_subscribers: 0,
  });
});
