import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { Env } from "../../src/config.ts";
import type { PopRequest } from "../../src/engine/engine.ts";
import worker from "../../src/index.ts";
import type { PopAnswer } from "../../src/objects/protocol.ts";

/** What an owner is asked for by a pop with this query: real waits of minutes cannot be tested otherwise. */
async function asked(query: string, vars: Partial<Env> = {}): Promise<PopRequest> {
  const requests: PopRequest[] = [];
  const owner = {
    pop(request: PopRequest): Promise<PopAnswer> {
      requests.push(request);
      return Promise.resolve({ json: "", count: 0, handed: [] });
    },
  };
  const OWNER = { idFromName: () => ({}), get: () => owner } as unknown as Env["OWNER"];
  const handlerEnv: Env = { ...(env as unknown as Env), AUTH: "off", ...vars, OWNER };
  const url = `http://waggle/api/v1/ephemeral/pop?queue=q${query}`;
  const response = await worker.fetch(new Request(url), handlerEnv, createExecutionContext());
  expect(await response.text()).toBe('{"queue":"q","messages":[]}');
  expect(requests).toHaveLength(1);
  return requests[0] as PopRequest;
}

it("asks for one message of any partition in queue mode, at once and leased, when nothing else is said", async () => {
  expect(await asked("")).toEqual({
    queue: "q",
    partition: null,
    group: "__QUEUE_MODE__",
    batch: 1,
    autoAck: false,
    waitMs: 0,
    waiterId: "",
  });
});

it.each([
  ["&partition=", null],
  ["&partition=Default", "Default"],
  ["&partition=a%2Fb:c%20d", "a/b:c d"],
])("reads the partition of %j as %j", async (query, partition) => {
  expect((await asked(query)).partition).toBe(partition);
});

it.each([
  ["&group=", "__QUEUE_MODE__"],
  ["&group=g", "g"],
])("reads the group of %j as %j", async (query, group) => {
  expect((await asked(query)).group).toBe(group);
});

it.each([
  ["", 1],
  ["&batch=", 1],
  ["&batch=7", 7],
  ["&batch=007", 7],
  ["&batch=10000", 10_000],
  ["&batch=10001", 10_000],
  ["&batch=99999999999999999999", 10_000],
  ["&batch=0", 1],
  ["&batch=-3", 1],
  ["&batch=1.5", 1],
  ["&batch=many", 1],
  ["&batch=5x", 1],
  ["&batch=0x10", 1],
])("reads the batch of %j as %d", async (query, batch) => {
  expect((await asked(query)).batch).toBe(batch);
});

it.each([
  ["&wait=true", 30_000],
  ["&wait=1", 30_000],
  ["&wait=yes", 30_000],
  ["&wait=false", 0],
  ["&wait=0", 0],
  ["&wait=no", 0],
  ["&wait=", 0],
  ["&wait", 0],
  ["&timeout=500", 0],
  ["&wait=false&timeout=500", 0],
  ["&wait=true&timeout=500", 500],
  ["&wait=true&timeout=0", 0],
  ["&wait=true&timeout=-1", 0],
  ["&wait=true&timeout=300000", 300_000],
  ["&wait=true&timeout=300001", 300_000],
  ["&wait=true&timeout=", 30_000],
  ["&wait=true&timeout=soon", 30_000],
  ["&wait=true&timeout=1.5", 30_000],
])("waits for %j %d ms", async (query, waitMs) => {
  expect((await asked(query)).waitMs).toBe(waitMs);
});

it("takes the wait of a pop that does not say how long from a var", async () => {
  expect((await asked("&wait=true", { POP_TIMEOUT_MS: "1234" })).waitMs).toBe(1234);
  expect((await asked("&wait=true&timeout=7", { POP_TIMEOUT_MS: "1234" })).waitMs).toBe(7);
});

it.each([
  ["&autoAck=true", true],
  ["&autoAck=1", true],
  ["&autoAck=yes", true],
  ["&autoAck=false", false],
  ["&autoAck=", false],
  ["&commitOnDelivery=true", true],
  ["&commitOnDelivery=1", true],
  ["&commitOnDelivery=yes", true],
  ["&commitOnDelivery=no", false],
  ["&autoAck=false&commitOnDelivery=true", true],
  ["&autoAck=true&commitOnDelivery=false", true],
  ["&autoAck=false&commitOnDelivery=false", false],
])("reads autoAck of %j as %j", async (query, autoAck) => {
  expect((await asked(query)).autoAck).toBe(autoAck);
});

it("ignores parameters that it does not know", async () => {
  expect((await asked("&consumer=x&batch=2&")).batch).toBe(2);
});
