import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { buildPage, PAGE } from "../../examples/presence/build.ts";
import { mintToken } from "../../src/auth/mint.ts";
import { parseKeys } from "../../src/auth/keys.ts";
import { KEYS } from "../auth/keys.ts";
import { complaints, launch, Site } from "./browser.ts";
import { eventually } from "./support.ts";

const keys = JSON.stringify(KEYS);
const PATIENCE_MS = 20_000;

let workerd: Workerd;
let site: Site;
let browser: Browser;
const contexts: BrowserContext[] = [];

beforeAll(async () => {
  await buildPage();
  site = await Site.of(PAGE);
  const vars = { AUTH: "required", WAGGLE_KEYS: keys, CORS_ORIGINS: site.url };
  workerd = await startWorkerd({ build: inject("build"), vars });
  browser = await launch();
});

afterEach(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()));
});

afterAll(async () => {
  await browser?.close();
  site?.close();
  await workerd?.kill();
});

/** Good for one room and nothing else. */
function tokenFor(room: string): Promise<string> {
  const verbs = ["push", "pop", "ack"] as const;
  return mintToken(parseKeys(keys), { ephemeral: [{ queue: "presence", partition: room, verbs: [...verbs] }] }, 3600);
}

async function newPage(): Promise<Page> {
  const context = await browser.newContext();
  contexts.push(context);
  return context.newPage();
}

/** A window of the example in a room, with a token for that room unless it brings another. */
async function enter(page: Page, name: string, room: string, { from = site, token = "", transport = "" } = {}) {
  const query = new URLSearchParams({ broker: workerd.url, room, name, transport });
  await page.goto(`${from.url}/?${query}#token=${token || (await tokenFor(room))}`);
}

async function sees(page: Page, names: string[]): Promise<void> {
  const read = async () => (await page.locator("#people li span").allTextContents()).toSorted().join(", ");
  await eventually(read, names.toSorted().join(", "), PATIENCE_MS);
}

async function says(page: Page, id: string, text: string): Promise<void> {
  await eventually(async () => (await page.textContent(id)) ?? "", text, PATIENCE_MS);
}

it.each(["websocket", "long-poll"])(
  "two windows see each other's typing, pointers and lines over %s",
  async (transport) => {
    const room = `typing-${transport}`;
    const [ada, grace] = [await newPage(), await newPage()];
    const problems = [ada, grace].map(complaints);
    await enter(ada, "Ada", room, { transport });
    await enter(grace, "Grace", room, { transport });
    await sees(ada, ["Ada (you)", "Grace"]);
    await sees(grace, ["Ada", "Grace (you)"]);
    await ada.locator("#text").pressSequentially("hel");
    await says(grace, "#typing", "Ada is typing…");
    await grace.locator("#text").pressSequentially("lo");
    await says(ada, "#typing", "Grace is typing…");
    // Nobody types for good.
    await says(grace, "#typing", "");
    await ada.hover("#stage");
    await grace.locator(".pointer:visible", { hasText: "Ada" }).waitFor();
    await ada.press("#text", "Enter");
    await says(grace, "#lines", "Ada hel");
    await says(ada, "#lines", "Ada hel");
    expect(problems).toEqual([[], []]);
  },
);

it("a window that is closed says goodbye, and one that is killed disappears without one", async () => {
  const room = "killed";
  const [ada, grace, hedy] = [await newPage(), await newPage(), await newPage()];
  await enter(ada, "Ada", room);
  await enter(grace, "Grace", room);
  await enter(hedy, "Hedy", room);
  await sees(ada, ["Ada (you)", "Grace", "Hedy"]);
  const renderer = await grace.context().newCDPSession(grace);
  // Does not come back: there is nobody left to answer.
  renderer.send("Page.crash").catch(() => {});
  await sees(ada, ["Ada (you)", "Hedy"]);
  await hedy.close({ runBeforeUnload: true });
  await sees(ada, ["Ada (you)"]);
});

it("a window that goes offline disappears, and comes back to what happened since", async () => {
  const room = "offline";
  const [ada, grace] = [await newPage(), await newPage()];
  await enter(ada, "Ada", room);
  await enter(grace, "Grace", room);
  await sees(ada, ["Ada (you)", "Grace"]);
  await grace.context().setOffline(true);
  await says(grace, "#status", "offline");
  await sees(ada, ["Ada (you)"]);
  await ada.fill("#text", "where are you?");
  await ada.press("#text", "Enter");
  await grace.context().setOffline(false);
  await sees(ada, ["Ada (you)", "Grace"]);
  await sees(grace, ["Ada", "Grace (you)"]);
  await says(grace, "#lines", "Ada where are you?");
});

it("where no WebSocket gets through, a long poll does", async () => {
  const room = "fallback";
  const [ada, grace] = [await newPage(), await newPage()];
  // As behind a proxy that takes the connection and hands nothing on.
  await grace.routeWebSocket(/subscribe/, () => {});
  await enter(ada, "Ada", room);
  await enter(grace, "Grace", room);
  await says(grace, "#status", "over long poll");
  await says(ada, "#status", "over WebSocket");
  await sees(grace, ["Ada", "Grace (you)"]);
  await ada.locator("#text").pressSequentially("hel");
  await says(grace, "#typing", "Ada is typing…");
});

it("a token for one room cannot read another", async () => {
  const page = await newPage();
  await enter(page, "Eve", "room-b", { token: await tokenFor("room-a") });
  await eventually(async () => /may not pop.*presence/.test((await page.textContent("#status")) ?? ""), true);
  await sees(page, []);
  const api = `${workerd.url}/api/v1/ephemeral/pop?queue=presence&partition=room-b`;
  const status = await page.evaluate(
    async ([url, token]) => (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status,
    [api, await tokenFor("room-a")] as const,
  );
  expect(status).toBe(403);
});

it("a page of another origin is refused by its browser", async () => {
  const foreign = await Site.of(PAGE);
  try {
    const page = await newPage();
    await page.goto(foreign.url);
    const call = [`${workerd.url}/api/v1/ephemeral/pop?queue=presence&partition=a`, await tokenFor("a")] as const;
    const read = (target: Page) =>
      target.evaluate(
        ([url, token]) =>
          fetch(url, { headers: { authorization: `Bearer ${token}` } }).then(
            ({ status }) => `answered ${status}`,
            (error: unknown) => String(error),
          ),
        call,
      );
    expect(await read(page)).toBe("TypeError: Failed to fetch");
    await page.goto(site.url);
    expect(await read(page)).toBe("answered 200");
  } finally {
    foreign.close();
  }
});
