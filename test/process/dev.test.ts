import { afterEach, expect, it } from "vitest";
import { Client } from "./support.ts";
import { Dev } from "./wrangler-dev.ts";

const SEED_PUSH = '{"queue":"presence","partition":"room-7","messages":[{"payload":{"user":"ada","typing":true}}]}';
const SEED_POP = "queue=presence&partition=room-7&group=ui-1&wait=true&timeout=5000";

let dev: Dev | null = null;

afterEach(async () => {
  await dev?.stop();
  dev = null;
});

it("npm start hands its options on to wrangler dev", async () => {
  dev = await Dev.npm(".", ["--var", "OWNERS:3"]);
  const client = new Client(dev.url);
  expect(await client.get("/health")).toMatchObject({ status: "ok", owners: 3 });
  await client.post("push", JSON.parse(SEED_PUSH));
  expect(await client.pop(SEED_POP)).toMatchObject([
    { partition: "room-7", attempts: 1, payload: { user: "ada", typing: true } },
  ]);
});

it("the Studio and what machines read are served beside the routes, which answer as before", async () => {
  dev = await Dev.npm(".");
  const { url } = dev;
  const described = await fetch(`${url}/openapi.json`);
  expect(described.headers.get("content-type")).toContain("application/json");
  expect(await described.json()).toMatchObject({ openapi: "3.1.1", info: { title: "Waggle" } });
  expect(await (await fetch(`${url}/llms.txt`)).text()).toMatch(/^# Waggle\n\n> /);
  const studio = await fetch(`${url}/studio`);
  expect([studio.url, await studio.text()]).toEqual([`${url}/studio/`, expect.stringContaining("Waggle Studio")]);
  expect((await fetch(`${url}/studio/main.js`)).headers.get("content-type")).toContain("text/javascript");
  const missing = await fetch(`${url}/api/v1/nothing`);
  expect([missing.status, await missing.json()]).toMatchObject([404, { code: "not_found" }]);
});

it("the example of request and reply answers over service bindings", async () => {
  dev = await Dev.npm("examples/request-reply");
  const url = `${dev.url}/?n=`;
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  const squares = await Promise.all(numbers.map(async (n) => (await fetch(url + n)).json()));
  expect(squares).toEqual(numbers.map((n) => ({ n, squared: n * n })));
});
