import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { AxeResults } from "axe-core";
import { expect } from "vitest";
import { complaints } from "./browser.ts";

const axeFile = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export const WIDE = { width: 1440, height: 900 };
export const NARROW = { width: 390, height: 844 };

interface Opened {
  page: Page;
  /** What it has complained of so far. */
  problems: string[];
}

/** A window on the Studio, in a browser of its own, with a token if there is one. */
export async function openStudio(
  browser: Browser,
  url: string,
  { token = null, ...options }: BrowserContextOptions & { token?: string | null } = {},
): Promise<Opened> {
  const context = await browser.newContext({ viewport: WIDE, ...options });
  if (token !== null) await context.addInitScript(`sessionStorage.setItem("waggle-token", ${JSON.stringify(token)})`);
  const page = await context.newPage();
  const problems = complaints(page);
  await page.goto(url);
  return { page, problems };
}

/** Fails with what keeps somebody from using the page as it stands, as far as axe can tell. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(await readFile(axeFile, "utf8"));
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    const { violations: found } = await axe.run();
    return found.map(({ id, impact, nodes }) => ({ id, impact, at: nodes.map(({ html }) => html) }));
  });
  expect(violations).toEqual([]);
}

/** Fails if the page has to be scrolled sideways. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]";
  const [width = NaN, view = NaN] = await page.evaluate<number[]>(sizes);
  expect(width).toBeLessThanOrEqual(view);
}
