import { expect, it } from "vitest";
import {
  call,
  freshQueue,
  listed,
  parked,
  partitionAway,
  partitionsAway,
  passTime,
  pop,
  popPath,
  popPayloads,
  post,
  push,
  read,
  refused,
  waitingPop,
} from "./support.ts";

const NONE = [503, "no_responders"] as const;

function ask(queue: string, partition?: string, payloads = [1]): Promise<Response> {
  return post("push", {
    queue,
    partition,
    requireResponders: true,
    messages: payloads.map((payload) => ({ payload })),
  });
}

it("a push that requires responders is refused at once when nobody listens, and creates nothing", async () => {
  const queue = freshQueue();
  for (const partition of [undefined, partitionAway(queue)]) {
    expect(await refused(ask(queue, partition), ...NONE)).toContain(JSON.stringify(queue));
  }
  expect((await ask(queue)).headers.get("retry-after"), "nobody knows when").toBeNull();
  expect(await listed(queue)).toBeUndefined();
});

it("pops of all partitions listen to every one, wherever it lives", async () => {
  const queue = freshQueue();
  const waiting = waitingPop(queue, { group: "g" });
  await parked(1);
  const [first = "", second = ""] = partitionsAway(queue, 2);
  expect(await read(ask(queue, first, [1]), 201)).toEqual({ pushed: 1 });
  expect((await waiting).map(({ partition, payload }) => [partition, payload])).toEqual([[first, 1]]);
  // Its group popped a moment ago.
  expect(await read(ask(queue, second, [2]), 201)).toEqual({ pushed: 1 });
  expect(await popPayloads(queue, { group: "g" })).toEqual([2]);
});

it("a pop of one partition listens to that alone", async () => {
  const queue = freshQueue();
  const [here = "", there = ""] = partitionsAway(queue, 2);
  await pop(queue, { partition: here });
  await read(ask(queue, here), 201);
  await refused(ask(queue, there), ...NONE);
  await refused(ask(queue), ...NONE);
});

it("with no messages it asks whether anybody listens, as a responder asks of an inbox", async () => {
  const inbox = freshQueue();
  await refused(ask(inbox, undefined, []), ...NONE);
  expect(await listed(inbox)).toBeUndefined();
  const waiting = waitingPop(inbox, { partition: "Default" });
  await parked(1);
  expect(await read(ask(inbox, undefined, []), 201)).toEqual({ pushed: 0 });
  await push(inbox, ["reply"]);
  expect(await waiting).toMatchObject([{ payload: "reply" }]);
});

it("refuses what is no boolean, naming it", async () => {
  const error = await refused(
    post("push", { queue: freshQueue(), requireResponders: "yes", messages: [] }),
    400,
    "ephemeral_bad_request",
  );
  expect(error).toContain("requireResponders");
});

it("whoever popped last counts for 5 s", async () => {
  const queue = freshQueue();
  await read(call(popPath(queue)));
  passTime(4900);
  await read(ask(queue), 201);
  passTime(200);
  await refused(ask(queue), ...NONE);
});
