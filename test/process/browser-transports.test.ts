import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { mintToken } from "../../src/auth/mint.ts";
import { parseKeys } from "../../src/auth/keys.ts";
import type { Waggle } from "../../src/client/index.ts";
import { KEYS } from "../auth/keys.ts";
import { launch, Site } from "./browser.ts";
import { eventually } from "./support.ts";

const keys = JSON.stringify(KEYS);
const COUNT = 1000;
const ALL = Array.from({ length: COUNT }, (_, n) => n);

/** What the page under test has: the client, and what has come so far. */
declare const window: { waggle: Waggle; got: number[]; token: string; broker: string };

let workerd: Workerd;
let site: Site;
let browser: Browser;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waggle-page-"));
  await build({
    entryPoints: [join(import.meta.dirname, "../../src/client/index.ts")],
    outfile: join(folder, "waggle-mq.js"),
    bundle: true,
    format: "esm",
  });
  const script = `import { Waggle } from "./waggle-mq.js";
    const [broker, token] = decodeURIComponent(location.hash.slice(1)).split(" ");
    Object.assign(window, { broker, token, got: [], waggle: new Waggle(broker, { token }) });`;
  await writeFile(
    join(folder, "index.html"),
    `<!doctype html><link rel="icon" href="data:,"><script type="module">${script}</script>`,
  );
  site = await Site.of(folder);
  const vars = { AUTH: "required", WAGGLE_KEYS: keys, CORS_ORIGINS: site.url };
  workerd = await startWorkerd({ build: inject("build"), vars });
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  site?.close();
  await workerd?.kill();
  await rm(folder, { recursive: true, force: true });
});

/** Each runs in the page, and takes what comes with the group `g`. */
const TRANSPORTS: Record<string, (queue: string) => void> = {
  "a long poll": (queue) => {
    void window.waggle.consume<number>(queue, { group: "g", batch: 50 }, ({ payload }) => window.got.push(payload));
  },
  "a WebSocket": (queue) => {
    const run = async () => {
      for await (const { payload } of window.waggle.subscribe<number>(queue, { group: "g", prefetch: 50 })) {
        window.got.push(payload);
      }
    };
    void run();
  },
  "server-sent events": (queue) => {
    const run = async () => {
      const headers = { authorization: `Bearer ${window.token}` };
      const sold = await fetch(`${window.broker}/api/v1/tickets`, { method: "POST", headers });
      const { ticket } = (await sold.json()) as { ticket: string };
      const query = `queue=${queue}&group=g&prefetch=50&ticket=${encodeURIComponent(ticket)}`;
      const events = new EventSource(`${window.broker}/api/v1/ephemeral/subscribe?${query}`);
      events.addEventListener("message", ({ data }) => {
        window.got.push((JSON.parse(String(data)) as { payload: number }).payload);
      });
    };
    void run();
  },
};

async function openPage(queue: string): Promise<{ page: Page; close: () => Promise<void> }> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const token = await mintToken(parseKeys(keys), { ephemeral: [{ queue, verbs: ["push", "pop", "ack"] }] }, 3600);
  await page.goto(`${site.url}/#${encodeURIComponent(`${workerd.url} ${token}`)}`);
  await page.waitForFunction(() => "waggle" in window);
  return { page, close: () => context.close() };
}

it.each(Object.entries(TRANSPORTS))("a browser gets 1,000 messages in order over %s", async (name, take) => {
  const queue = name.replaceAll(" ", "-");
  const { page, close } = await openPage(queue);
  try {
    await page.evaluate(take, queue);
    await page.evaluate(
      async ([to, all]) => {
        for (let from = 0; from < all.length; from += 10) {
          await window.waggle.ephemeral.push(to, all.slice(from, from + 10));
        }
      },
      [queue, ALL] as const,
    );
    await eventually(() => page.evaluate(() => window.got.length), COUNT, 30_000);
    expect(await page.evaluate(() => window.got)).toEqual(ALL);
    // Acked, all of them: the group has nothing left, neither waiting nor leased.
    const pending = () =>
      page.evaluate(async (of) => (await window.waggle.ephemeral.depth(of, { group: "g" })).pending, queue);
    await eventually(pending, 0);
  } finally {
    await close();
  }
});
