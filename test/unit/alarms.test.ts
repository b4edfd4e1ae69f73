import { beforeEach, expect, it, vi } from "vitest";
import { Alarms } from "../../src/objects/alarms.ts";

const kept = new Map<string, number>();
let alarm: number | null = null;
let now = 1000;
const ran: string[] = [];

const storage = {
  kv: {
    get: (key: string) => kept.get(key),
    put: (key: string, value: number) => void kept.set(key, value),
    delete: (key: string) => kept.delete(key),
  },
  setAlarm: async (at: number) => {
    alarm = at;
  },
  deleteAlarm: async () => {
    alarm = null;
  },
} as unknown as DurableObjectStorage;

const jobs: Record<string, () => Promise<void>> = {};
const alarms = new Alarms(storage, jobs);

beforeEach(() => {
  kept.clear();
  alarm = null;
  ran.length = 0;
  for (const job of ["a", "b"]) jobs[job] = async () => void ran.push(job);
  vi.spyOn(Date, "now").mockImplementation(() => now);
});

it("arms for the earliest job, and runs each at its time", async () => {
  await alarms.wake("a", now + 500);
  await alarms.wake("b", now + 200);
  expect(alarm).toBe(now + 200);
  now += 200;
  await alarms.ring();
  expect(ran).toEqual(["b"]);
  expect(alarm).toBe(now + 300);
  now += 300;
  await alarms.wake("b", now + 900);
  await alarms.ring();
  expect(ran).toEqual(["b", "a"]);
  expect(alarm).toBe(now + 900);
});

it("forgets a wish when a later one takes its place, or none", async () => {
  await alarms.wake("a", now + 1);
  await alarms.wake("a", now + 100);
  expect(alarm).toBe(now + 100);
  await alarms.wake("a", null);
  expect(alarm).toBeNull();
});

it("runs what asks for itself again only at that time", async () => {
  jobs["a"] = async () => {
    ran.push("a");
    await alarms.wake("a", now + 50);
  };
  await alarms.wake("a", now);
  await alarms.wake("b", now + 10);
  await alarms.ring();
  expect(ran).toEqual(["a"]);
  expect(alarm).toBe(now + 10);
});

it("runs a job of which nothing is written down: an earlier release may have armed the alarm for it", async () => {
  await alarms.ring();
  expect(ran).toEqual(["a", "b"]);
  expect(alarm).toBeNull();
});

it("keeps the alarm alive when a job fails, and lets the others run", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  jobs["a"] = async () => {
    throw new Error("a mistake");
  };
  await alarms.wake("a", now);
  await alarms.wake("b", now);
  await alarms.ring();
  expect(ran).toEqual(["b"]);
  expect(alarm).toBe(now + 60_000);
  expect(logged).toHaveBeenCalledOnce();
  logged.mockRestore();
});
