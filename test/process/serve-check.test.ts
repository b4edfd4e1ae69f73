import { afterEach, beforeEach, expect, it } from "vitest";
import { Served } from "./serve-support.ts";

let served: Served;

beforeEach(async () => {
  served = await Served.in();
});
afterEach(() => served.remove());

/** The lines that `--check` writes about a file, and its exit code. */
async function checked(content: string): Promise<{ lines: string[]; code: number | null }> {
  await served.write("waggle.config.json", content);
  const code = await served.run("--check");
  const lines = served.said.split("\n").filter((line) => line !== "" && !line.startsWith("> "));
  return { lines, code };
}

it("passes a good file, and tells the ports of a box that runs as its own", async () => {
  await served.write("worker.js", "export default { queue() {} }");
  const worker = { name: "w", main: "worker.js", queues: { consumers: [{ queue: "a" }] } };
  const config = { port: served.port, workers: [worker], vars: { OWNERS: 2 } };
  expect(await checked(JSON.stringify(config))).toEqual({ lines: ["The configuration is good."], code: 0 });
  await served.start();
  const other = await Served.in();
  await other.configure({ port: served.port, data: `${served.dir}/data` });
  expect(await other.run("--check")).toBe(0);
  expect(other.said).toContain("A broker runs on");
  // Nor may both run.
  expect(await other.run()).toBe(1);
  expect(other.said).toContain("another broker runs on");
  await other.configure({ port: served.port });
  expect(await other.run("--check")).toBe(1);
  expect(other.said).toContain(`port ${served.port} on 127.0.0.1 cannot be listened on: it is in use`);
  await other.remove();
});

it("says all that is wrong with the shape of a file, a line each", async () => {
  const { lines, code } = await checked(
    JSON.stringify({ prot: 1, port: "x", queues: [{ queue_name: "Bad Name" }], workers: [{ name: "waggle" }] }),
  );
  expect(code).toBe(1);
  const file = `${served.dir}/waggle.config.json: `;
  expect(lines.every((line) => line.startsWith(file))).toBe(true);
  const text = lines.join("\n");
  expect(text).toContain('unknown option "prot" (1) in the file; there are host, port, data');
  expect(text).toContain('port must be a whole number from 1 to 65535, not "x"');
  expect(text).toContain("queues[0].queue_name must be the name of a queue");
  expect(text).toContain("workers[0].name must be the name of a Worker");
  expect(text).toContain("workers[0].main must be a text that is not empty");
});

it("says all that would keep a well-formed file from working", async () => {
  await served.write("broken.ts", "export default {");
  await served.write("keys.json", '{"k1":"c2hvcnQ"}');
  const { lines, code } = await checked(
    JSON.stringify({
      port: served.port,
      keys: "keys.json",
      assets: "nowhere",
      vars: { OWNERS: 0, OWNRES: 1, AUTH: "off" },
      workers: [
        { name: "a", main: "broken.ts", services: [{ binding: "X", service: "other" }] },
        { name: "a", main: "missing.ts", queues: { consumers: [{ queue: "q", max_retries: 101 }] } },
      ],
      consumers: [
        { queue: "Q!", type: "http", url: "ftp://x", secret: "s" },
        { queue: "q", type: "http", url: "http://x" },
        { queue: "q", type: "worker", script_name: "a" },
      ],
    }),
  );
  expect(code).toBe(1);
  const text = lines.join("\n");
  for (const said of [
    "vars.AUTH is not for this file",
    "vars.OWNRES is unknown; there are CORS_ORIGINS, OWNERS",
    "the var OWNERS is 0; it must be a whole number from 1 to 1024",
    'the key "k1" is of 5 bytes; at least 32 are needed',
    "assets: ENOENT",
    "workers[0].main: ",
    'workers[0].services: X reaches "other", which is not here; there are waggle, a',
    "workers[1].main: ",
    "workers[1]: queues.consumers[0]: max_retries must be a whole number from 0 to 100, not 101",
    'consumers[0].queue must be the name of a queue, not "Q!"',
    'consumers[0]: url must be an http or https URL without a user and a password, not "ftp://x"',
    "consumers[1]: secret is required",
    "consumers[2]: a Worker consumes by the queues table of its entry in workers",
    "workers: a is there twice",
  ]) {
    expect(text).toContain(said);
  }
});

it("refuses to serve everybody on an address that others reach", async () => {
  await served.configure({ host: "0.0.0.0" });
  expect(await served.run()).toBe(1);
  expect(served.said).toContain('host is "0.0.0.0" and there are no keys');
});

it("ends with 1 when there is no such file or no JSON in it, and with 2 for a bad command line", async () => {
  expect(await served.run("--check")).toBe(1);
  expect(served.said).toContain("cannot be read");
  expect((await checked("{port: 1}")).lines[0]).toContain("is not JSON");
  expect(await served.run("--prot", "1")).toBe(2);
  expect(served.said).toContain("usage:");
});
