import { expect, it } from "vitest";
import type { Env } from "../../src/config.ts";
import { Clock } from "./cluster-clock.ts";
import { Declarations, DeclarationsDisk } from "./cluster-declarations.ts";

/** An epoch that is not settled, and what is left of its alarm. */
async function alarmAfterJoin(alarmAt: number | null, settled = 0): Promise<number | null> {
  const disk = new DeclarationsDisk();
  disk.epochs = [
    { epoch: 0, owners: 2, settled: 1 },
    { epoch: 1, owners: 3, settled },
  ];
  disk.alarmAt = alarmAt;
  const clock = new Clock();
  await clock.rule(async () => {
    clock.now = 1000;
    new Declarations(disk, clock, () => ({}) as Env).join(0, 3);
    await clock.turns(10);
  });
  return disk.alarmAt;
}

it("an owner that starts sees to it that an unsettled epoch has an alarm", async () => {
  expect(await alarmAfterJoin(null)).toBe(1000);
});

it("an alarm that is set stays as it is, and a settled epoch needs none", async () => {
  expect(await alarmAfterJoin(60_000)).toBe(60_000);
  expect(await alarmAfterJoin(null, 1)).toBeNull();
});
