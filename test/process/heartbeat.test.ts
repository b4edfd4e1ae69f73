import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Client, eventually, rawGet } from "./support.ts";

let workerd: Workerd;
let client: Client;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build") });
  client = new Client(workerd.url);
});
afterAll(() => workerd.stop());

// Real time is the point here: white space begins to flow after 15 s.
describe.concurrent("a pop that waits longer than 15 s", () => {
  it("sends its head and white space, and then one JSON answer", async () => {
    const started = Date.now();
    const response = await fetch(`${client.url}/api/v1/ephemeral/pop?queue=slow&wait=true&timeout=17000`);
    expect(Date.now() - started).toBeGreaterThan(14_000);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const text = await response.text();
    expect(text).toMatch(/^ +\{/);
    expect(JSON.parse(text)).toEqual({ queue: "slow", messages: [] });
  });

  it("still hands out what comes after that", async () => {
    const answer = fetch(`${client.url}/api/v1/ephemeral/pop?queue=late&wait=true&timeout=30000`);
    await answer;
    await client.push("late", ["hello"]);
    const { messages } = (await (await answer).json()) as { messages: { payload: string }[] };
    expect(messages.map(({ payload }) => payload)).toEqual(["hello"]);
  });

  it("is ended when its caller has gone by then, and takes no message", async () => {
    const socket = await rawGet(workerd, "/api/v1/ephemeral/pop?queue=gone&group=g&wait=true&timeout=60000");
    await new Promise((resolve) => socket.once("data", resolve));
    socket.resetAndDestroy();
    const view = "/api/v1/system/owners?queue=gone";
    await eventually(
      async () => {
        const { owners } = await client.get<{ owners: { partitions: string[]; parkedPops: number }[] }>(view);
        return owners.filter(({ parkedPops }) => parkedPops > 0).length;
      },
      0,
      40_000,
    );
    await client.push("gone", ["kept"]);
    const [message] = await client.pop("queue=gone&group=g");
    expect(message).toMatchObject({ payload: "kept", attempts: 1 });
  });
});
