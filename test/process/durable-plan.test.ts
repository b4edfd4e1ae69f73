import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { buildOf, startWorkerd } from "../../bench/workerd.ts";

it("goes on in a new event once one has made as many calls as the free plan allows", async () => {
  const build = inject("build");
  const workerd = await startWorkerd({
    build,
    vars: { PLAN: "free" },
    services: { FIRST: { service: "first" } },
    workers: {
      first: buildOf(join(import.meta.dirname, "workers", "record.js"), build, {
        objects: { RECORD: "Record" },
        vars: { NAME: "first", FAILS: 0 },
      }),
    },
  });
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(`${workerd.url}/api/v1/queues${path}`, { method: "POST", body: JSON.stringify(body) });
    expect(answer.status, await answer.clone().text()).toBe(200);
  };
  await post("", { queue_name: "orders" });
  await post("/orders/consumers", { type: "worker", script_name: "FIRST", settings: { batch_size: 1 } });
  // One event sends them all, and nothing comes after it.
  await post("/orders/messages/batch", { messages: Array.from({ length: 100 }, (_, body) => ({ body })) });
  const handed = async () => (await (await fetch(workerd.urls.first ?? "")).json()) as { attempts: number }[];
  for (let waited = 0; waited < 20_000 && (await handed()).length < 100; waited += 50) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect((await handed()).map(({ attempts }) => attempts)).toEqual(Array.from({ length: 100 }, () => 1));
  await workerd.stop();
});
