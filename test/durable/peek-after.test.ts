import { expect, it } from "vitest";
import { call, freshQueue, QUEUES, refused, result } from "./support.ts";

interface Run {
  messages: { body: string }[];
  after: string;
}

async function followed() {
  const { queue_id } = await freshQueue();
  const path = `${QUEUES}/${queue_id}/messages`;
  const peek = (after: string, batch_size = 10) => result<Run>("POST", `${path}/peek`, { after, batch_size });
  return {
    path,
    peek,
    send: (body: string, rest: Record<string, unknown> = {}) =>
      result("POST", path, { body, content_type: "text", ...rest }),
    /** What comes after a place, in as many calls as it takes. */
    all: async (from: string, batchSize: number) => {
      const bodies: string[] = [];
      for (let after = from; ;) {
        const run = await peek(after, batchSize);
        if (run.messages.length === 0) return { bodies, after: run.after };
        bodies.push(...run.messages.map(({ body }) => body));
        after = run.after;
      }
    },
  };
}

it("a peek after the end sees only what comes later", async () => {
  const { send, peek } = await followed();
  await send("old");
  const { messages, after } = await peek("end");
  expect(messages).toEqual([]);
  await send("new");
  const run = await peek(after);
  expect(run.messages.map(({ body }) => body)).toEqual(["new"]);
  expect((await peek(run.after)).messages).toEqual([]);
});

it.each([1, 2, 3, 10])("everything comes once, in the order of each partition, by %i", async (batchSize) => {
  const { send, peek, all } = await followed();
  await send("Default 0");
  const { after } = await peek("end");
  for (let n = 1; n <= 5; n++) {
    await send(`Default ${n}`);
    // One of the partitions was not there when the place was taken.
    await send(`second ${n}`, { partition: "second" });
  }
  const { bodies, after: end } = await all(after, batchSize);
  const of = (partition: string) => bodies.filter((body) => body.startsWith(partition));
  expect(of("Default")).toEqual([1, 2, 3, 4, 5].map((n) => `Default ${n}`));
  expect(of("second")).toEqual([1, 2, 3, 4, 5].map((n) => `second ${n}`));
  await send("last");
  expect((await all(end, batchSize)).bodies).toEqual(["last"]);
});

it("a delayed message comes when it has become ready", async () => {
  const { send, peek, all } = await followed();
  const { after } = await peek("end");
  await send("later", { delay_seconds: 1 });
  await send("now");
  const run = await all(after, 10);
  expect(run.bodies).toEqual(["now"]);
  await expect.poll(async () => (await all(run.after, 10)).bodies, { timeout: 10_000 }).toEqual(["later"]);
});

it("from the start, everything that is ready comes", async () => {
  const { send, all } = await followed();
  for (const body of ["a", "b", "c"]) await send(body);
  expect((await all("start", 2)).bodies).toEqual(["a", "b", "c"]);
});

it.each(["", "END", "bm9wZQ", "W1siRGVmYXVsdCIsLTFdXQ"])("refuses the place %j", async (after) => {
  const { path } = await followed();
  expect(await refused(call("POST", `${path}/peek`, { after }), 400, 10400)).toContain('after must be "start", "end"');
});
