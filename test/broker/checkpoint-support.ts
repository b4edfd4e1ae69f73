import { abortAllDurableObjects, evictAllDurableObjects } from "cloudflare:test";
import { afterAll, beforeAll, expect } from "vitest";
import { call, passTime } from "./support.ts";

/** Longer than `CHECKPOINT_MS`: what was answered before this is on the disk after it. */
const WINDOW_MS = 1300;

export async function windowPassed(): Promise<void> {
  passTime(WINDOW_MS);
  // Every timer looks at the clock, and only then what it has written is given its time.
  await scheduler.wait(2 * LOOK_MS);
  await scheduler.wait(LOOK_MS);
}

/** What all owners have counted under a name, summed. */
export async function counted(name: string): Promise<number> {
  const text = await (await call("/metrics")).text();
  const value = Number(new RegExp(`^waggle_ephemeral_${name} (\\d+)$`, "m").exec(text)?.[1]);
  expect(value, name).not.toBeNaN();
  return value;
}

/** How long owners wait for another request before they go to sleep. */
export const QUIET_MS = 5000;

/** For how long owners that have had their quiet may still be busy with what they do at last. */
const LAST_THINGS_MS = 300;

/** Every owner goes to sleep, once it has had its quiet and nothing else keeps it, and goes from memory. */
export async function sleptAll(): Promise<void> {
  passTime(QUIET_MS);
  const slept = evictAllDurableObjects();
  const isOver = await Promise.race([slept.then(() => true), scheduler.wait(LAST_THINGS_MS).then(() => false)]);
  // What an owner says to another at last is a request to that one, whose quiet begins anew.
  if (!isOver) passTime(QUIET_MS);
  await slept;
}

/** How often a timer looks at the clock. */
const LOOK_MS = 50;

const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
const pending = new Map<number, number>();
let timers = 0;

function setTimer(run: () => void, ms = 0): number {
  const id = ++timers;
  const at = Date.now() + ms;
  const look = () => {
    const left = at - Date.now();
    if (left > 0) {
      pending.set(id, real.setTimeout(look, Math.min(left, LOOK_MS)));
      return;
    }
    pending.delete(id);
    run();
  };
  pending.set(id, real.setTimeout(look, Math.min(ms, LOOK_MS)));
  return id;
}

function clearTimer(id: number): void {
  real.clearTimeout(pending.get(id) ?? null);
  pending.delete(id);
}

/**
 * Timers follow the clock that tests move, in each file that calls this. Files share a runtime and its modules: a hook that
 * this module set by itself would be set for the first of them alone.
 */
export function timersFollowTheClock(): void {
  beforeAll(() => void Object.assign(globalThis, { setTimeout: setTimer, clearTimeout: clearTimer }));
  afterAll(() => void Object.assign(globalThis, real));
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
