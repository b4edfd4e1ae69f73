import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Served } from "./serve-support.ts";

let served: Served;

beforeAll(async () => {
  served = await Served.in();
  await mkdir(join(served.dir, "site", "studio"), { recursive: true });
  await served.write("site/index.html", "<h1>home</h1>");
  await served.write("site/studio/index.html", "<h1>studio</h1>");
  await served.write("site/studio/app.js", "let a;");
  await served.write("site/api.json", "{}");
  await served.write("site/two words.txt", "two words");
  await served.write("site/.hidden", "secret");
  await served.configure({ assets: "./site" });
  await served.start();
});
afterAll(() => served.remove());

function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
  return fetch(served.url + path, { method, headers, redirect: "manual" });
}

it("serves files with their types, and a folder by its index.html", async () => {
  const seen = await Promise.all(
    ["/", "/studio/", "/studio/app.js", "/api.json", "/two%20words.txt?v=1"].map(async (path) => {
      const response = await get(path);
      return [response.status, response.headers.get("content-type"), await response.text()];
    }),
  );
  expect(seen).toEqual([
    [200, "text/html; charset=utf-8", "<h1>home</h1>"],
    [200, "text/html; charset=utf-8", "<h1>studio</h1>"],
    [200, "text/javascript; charset=utf-8", "let a;"],
    [200, "application/json", "{}"],
    [200, "text/plain; charset=utf-8", "two words"],
  ]);
});

it("sends a folder without its slash, and its index.html, to the folder", async () => {
  for (const path of ["/studio?a=b", "/studio/index.html?a=b"]) {
    const response = await get(path);
    expect([response.status, response.headers.get("location")]).toEqual([307, "/studio/?a=b"]);
  }
});

it("answers 304 to who has a file already, and a HEAD without its content", async () => {
  const { headers } = await get("/api.json");
  const again = await get("/api.json", { "if-none-match": headers.get("etag") ?? "" });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  const head = await get("/api.json", {}, "HEAD");
  expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, headers.get("etag"), ""]);
});

it("leaves everything else to the broker, and shows nothing hidden", async () => {
  expect(await (await get("/health")).json()).toMatchObject({ status: "ok" });
  for (const path of ["/.hidden", "/constructor", "/studio/nothing", "/%2e%2e/waggle.config.json"]) {
    const response = await get(path);
    expect([path, response.status]).toEqual([path, 404]);
  }
  expect((await get("/api.json", {}, "POST")).status).toBe(404);
  const queue = { queue_name: "orders" };
  await served.call("POST", "queues", queue);
  expect(await served.call("GET", "queues")).toMatchObject([queue]);
});
