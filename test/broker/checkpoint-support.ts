import { abortAllDurableObjects, evictAllDurableObjects } from "cloudflare:test";
import { expect } from "vitest";
import { call } from "./support.ts";

/** Longer than `CHECKPOINT_MS`: what was answered before this is on the disk after it. */
const WINDOW_MS = 1300;

export async function windowPassed(): Promise<void> {
  await scheduler.wait(WINDOW_MS);
}

/** What all owners have counted under a name, summed. */
export async function counted(name: string): Promise<number> {
  const text = await (await call("/metrics")).text();
  const value = Number(new RegExp(`^waggle_ephemeral_${name} (\\d+)$`, "m").exec(text)?.[1]);
  expect(value, name).not.toBeNaN();
  return value;
}

/** Every owner goes to sleep, which takes it 5 s after the last request or lease, and goes from memory. */
export async function sleptAll(): Promise<void> {
  await evictAllDurableObjects();
}

/** Every object goes from memory at once. */
export async function crashedAll(): Promise<void> {
  await abortAllDurableObjects();
}

/** The same, after everything has been written. */
export async function restartedAll(): Promise<void> {
  await windowPassed();
  await crashedAll();
}

export function numbers(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}
