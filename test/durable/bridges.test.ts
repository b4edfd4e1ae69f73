import { expect, it } from "vitest";
import { call, envelope, env, freshName, freshQueue, QUEUES, refused, result } from "./support.ts";
import { remoteDeclarations } from "../../src/objects/remote.ts";

interface Bridge {
  source: string;
  target: { kind: string; queue: string; partition?: string };
  created_on: string;
}

const PATH = "/api/v1/bridges";

it("is put, read, listed, changed and removed", async () => {
  const { queue_name, queue_id } = await freshQueue();
  const source = freshName();
  const durable = { kind: "durable", queue: queue_name, partition: "p" };
  const bridge = await result<Bridge>("PUT", `${PATH}/${source}`, { target: durable });
  expect(bridge).toMatchObject({ source, target: durable });
  expect(await result("GET", `${PATH}/${source}`)).toEqual(bridge);
  const { result: listed, result_info } = await envelope<Bridge[]>("GET", PATH);
  expect(listed).toEqual([bridge]);
  expect(result_info).toMatchObject({ count: 1, total_count: 1 });
  expect(await remoteDeclarations(env).bridge(source)).toMatchObject({ target: durable });

  // An id stands for the name, and a rename of the queue shows.
  await result("PUT", `${PATH}/${source}`, { target: { kind: "durable", queue: queue_id } });
  const renamed = freshName();
  await result("PATCH", `${QUEUES}/${queue_id}`, { queue_name: renamed });
  expect((await result<Bridge>("GET", `${PATH}/${source}`)).target).toEqual({ kind: "durable", queue: renamed });
  expect(await refused(call("DELETE", `${QUEUES}/${queue_id}`), 409, 10409)).toContain(source);

  const ephemeral = { kind: "ephemeral", queue: "Any name / at all" };
  expect(await result("PUT", `${PATH}/${source}`, { target: ephemeral })).toMatchObject({ target: ephemeral });
  await result("DELETE", `${QUEUES}/${queue_id}`);
  expect(await result("DELETE", `${PATH}/${source}`)).toMatchObject({ source, target: ephemeral });
  await refused(call("DELETE", `${PATH}/${source}`), 404, 10404);
  await refused(call("GET", `${PATH}/${source}`), 404, 10404);
  expect(await remoteDeclarations(env).bridge(source)).toBeNull();
  expect((await envelope("GET", PATH)).result).toEqual([]);
});

it("is refused when its durable queue is not declared", async () => {
  const target = { kind: "durable", queue: "nowhere" };
  expect(await refused(call("PUT", `${PATH}/source`, { target }), 404, 10104)).toContain("nowhere");
  await refused(call("PUT", `${PATH}/source`, { target: { kind: "durable", queue: "No Name" } }), 400, 10107);
});

it.each<[problem: string, source: string, body: unknown, named: string]>([
  ["no target", "source", {}, "target"],
  ["another key", "source", { target: { kind: "ephemeral", queue: "q" }, batch: 1 }, "batch"],
  ["another key of the target", "source", { target: { kind: "ephemeral", queue: "q", group: "g" } }, "group"],
  ["a kind that there is not", "source", { target: { kind: "kafka", queue: "q" } }, "durable"],
  ["no queue", "source", { target: { kind: "ephemeral" } }, "queue"],
  ["an empty queue", "source", { target: { kind: "ephemeral", queue: "" } }, "queue"],
  ["an empty partition", "source", { target: { kind: "ephemeral", queue: "q", partition: "" } }, "partition"],
  ["a source that is no queue", "Source_1", { target: { kind: "ephemeral", queue: "q" } }, "source"],
])("refuses %s", async (_, source, body, named) => {
  expect(await refused(call("PUT", `${PATH}/${source}`, body), 400, 10400)).toContain(named);
  expect((await envelope("GET", PATH)).result).toEqual([]);
});
