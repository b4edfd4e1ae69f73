import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { AxeResults } from "axe-core";
import { expect } from "vitest";

const axeFile = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export const WIDE = { width: 1440, height: 900 };
export const NARROW = { width: 390, height: 844 };

/** A window on the Studio; of its own, so that no token is shared. */
export async function openStudio(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Page> {
  // What looks for faults is a script that the page's policy would keep out.
  const context = await browser.newContext({ viewport: WIDE, bypassCSP: true, ...options });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Fails with what keeps somebody from using the page as it stands, as far as axe can tell. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(await readFile(axeFile, "utf8"));
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    const { violations: found } = await axe.run();
    return found.map(({ id, impact, nodes }) => ({ id, impact, at: nodes.map(({ html }) => html) }));
  });
  expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
}

/** Fails if the page has to be scrolled sideways. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]";
  const [width = NaN, view = NaN] = await page.evaluate<number[]>(sizes);
  expect(width).toBeLessThanOrEqual(view);
}
