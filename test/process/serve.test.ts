import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, expect, it } from "vitest";
import { parseKeys } from "../../src/auth/keys.ts";
import { mintToken } from "../../src/auth/mint.ts";
import { freePort } from "../../bench/free-port.ts";
import { Served } from "./serve-support.ts";
import { Client, eventually } from "./support.ts";

let served: Served;

afterEach(() => served.remove());

interface Consumer {
  name: string;
  settings: { batch_size: number };
}
interface Queue {
  modified_on: string;
  consumers: Consumer[];
}

it("keeps over kill -9 what was pushed, and delivers at the restart what came due meanwhile", async () => {
  served = await Served.in();
  await served.configure({ queues: [{ queue_name: "orders" }], workers: [recorder()] });
  await served.write("recorder.ts", RECORDER);
  await served.start();
  const client = new Client(served.url);
  await client.push("presence", ["kept"]);
  await served.call("POST", "queues/orders/messages", { body: "at once", content_type: "text" });
  await served.call("POST", "queues/delayed/messages", { body: "later", delay_seconds: 3 });
  const sentAt = Date.now();
  // Longer than `CHECKPOINT_MS`.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await served.signalAll("SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, sentAt + 3500 - Date.now())));
  await expect(fetch(served.url)).rejects.toThrow();

  await served.start();
  // Nobody asks the broker for anything, and it does not wait for the alarm of 30 s after the send.
  await eventually(async () => served.said.includes("recorded later, attempt 1"), true);
  expect((await client.pop("queue=presence&group=g")).map(({ payload }) => payload)).toEqual(["kept"]);
  await served.call("POST", "queues/orders/consumers", { type: "http_pull" });
  const { messages } = await served.call<{ messages: { body: string }[] }>("POST", "queues/orders/messages/pull", {});
  expect(messages.map(({ body }) => body)).toEqual(["at once"]);
  await served.signalAll("SIGTERM");
});

const RECORDER = `
interface Env { NEXT: { send(body: unknown): Promise<void> } }
export default {
  async fetch(_: Request, env: Env) {
    await env.NEXT.send("from its own port");
    return new Response("sent");
  },
  async queue(batch: { messages: { body: unknown; attempts: number }[] }) {
    for (const { body, attempts } of batch.messages) console.log(\`recorded \${body}, attempt \${attempts}\`);
  },
};`;

function recorder(more: object = {}) {
  const queues = { producers: [{ binding: "NEXT", queue: "delayed" }], consumers: [{ queue: "delayed" }] };
  return { name: "recorder", main: "./recorder.ts", queues, ...more };
}

it("runs Workers beside the broker: their producers send to it, and it delivers to their queue()", async () => {
  served = await Served.in();
  const port = await freePort();
  await served.configure({ workers: [recorder({ port })] });
  await served.write("recorder.ts", RECORDER);
  await served.start();
  expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe("sent");
  await eventually(async () => served.said.includes("recorded from its own port, attempt 1"), true);
});

it("delivers to an HTTP consumer on this machine", async () => {
  served = await Served.in();
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      if (body !== "") bodies.push(body);
      response.end();
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await served.configure({ consumers: [{ queue: "hooks", type: "http", url, secret: "s" }] });
  await served.start();
  await served.call("POST", "queues/hooks/messages", { body: { n: 1 } });
  await eventually(async () => bodies.length, 1);
  expect(JSON.parse(bodies[0] ?? "")).toMatchObject({ queue: "hooks", messages: [{ body: { n: 1 } }] });
  server.closeAllConnections();
  server.close();
});

function pull(batch_size: number) {
  return { queue: "pulled", type: "http_pull", settings: { batch_size } };
}

it("declares what its file names: again is no change, what is edited changes, what is gone goes", async () => {
  served = await Served.in();
  await served.write("recorder.ts", RECORDER);
  const see = async (): Promise<Record<string, Queue>> => ({
    pulled: await served.call<Queue>("GET", "queues/pulled"),
    delayed: await served.call<Queue>("GET", "queues/delayed"),
  });
  const restarted = async (config: object): Promise<Record<string, Queue>> => {
    await served.signalAll("SIGTERM");
    await served.configure(config);
    await served.start();
    return see();
  };
  const first = await restarted({ workers: [recorder()], consumers: [pull(7)] });
  expect(first["pulled"]?.consumers).toMatchObject([{ name: "pull", settings: { batch_size: 7 } }]);
  expect(first["delayed"]?.consumers).toMatchObject([{ name: "recorder" }]);
  const second = await restarted({ workers: [recorder()], consumers: [pull(7)] });
  expect([second["pulled"]?.modified_on, second["delayed"]?.modified_on]).toEqual([
    first["pulled"]?.modified_on,
    first["delayed"]?.modified_on,
  ]);
  const third = await restarted({ workers: [recorder()], consumers: [pull(8)] });
  expect(third["pulled"]?.consumers).toMatchObject([{ settings: { batch_size: 8 } }]);
  // What somebody declared over the API is not the file's.
  await served.call("POST", "queues/delayed/consumers", { type: "http_pull", name: "mine" });
  const fourth = await restarted({});
  expect(fourth["pulled"]?.consumers).toEqual([]);
  expect(fourth["delayed"]?.consumers).toMatchObject([{ name: "mine" }]);
});

it("asks for tokens under the keys of its file", async () => {
  served = await Served.in();
  const keys = JSON.stringify({ k1: Buffer.alloc(32, 7).toString("base64url") });
  await served.write("keys.json", keys);
  await served.configure({ keys: "./keys.json", queues: [{ queue_name: "orders" }] });
  await served.start();
  await expect(served.call("GET", "queues")).rejects.toThrow("401");
  const token = await mintToken(parseKeys(keys), { admin: true }, 60);
  expect(await served.call("GET", "queues", undefined, token)).toMatchObject([{ queue_name: "orders" }]);
});

it("does not outlive its launcher, ends with 1 when workerd dies, and with 0 on SIGTERM", async () => {
  served = await Served.in();
  await served.configure({});
  await served.start();
  const isServing = async (): Promise<boolean> => (await fetch(`${served.url}/health`).catch(() => null)) !== null;
  process.kill(await pidOf("node", served.dir), "SIGKILL");
  await eventually(isServing, false);
  expect(await served.ended).not.toBe(0);

  await served.start();
  process.kill(await pidOf("workerd", served.dir), "SIGKILL");
  expect(await served.ended).toBe(1);
  expect(served.said).toContain("workerd has ended");

  await served.start();
  process.kill(await pidOf("node", served.dir), "SIGTERM");
  expect(await served.ended).toBe(0);
  expect(await isServing()).toBe(false);
});

/** The process of a program that was started with something of this folder. */
async function pidOf(program: string, dir: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const line = await readFile(join("/proc", pid, "cmdline"), "utf8").catch(() => "");
    const [command = "", ...args] = line.split("\0");
    if (command.endsWith(program) && args.some((arg) => arg.startsWith(dir))) return Number(pid);
  }
  throw new Error(`no ${program} runs on ${dir}`);
}
