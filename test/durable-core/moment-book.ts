import { expect } from "vitest";
import { parseRef } from "../../src/durable/refs.ts";
import type { EjectCursor } from "../../src/durable/eject-cursor.ts";
import type { PeekedMessage, StoredMessage } from "../../src/durable/message.ts";
import type { EjectedPage } from "../../src/durable/moment.ts";
import { MOMENT_MS } from "../../src/durable/moments.ts";

/** How a message stood when a moment began. */
interface Stood {
  attempts: number;
  dueAt: number | null;
}

/** What a moment owes whoever reads it, kept naively: a list of everything that a peek saw at that time. */
export interface BookedMoment {
  cursor: EjectCursor;
  stood: Map<number, Stood>;
  seen: Set<number>;
  usedAt: number;
  /** The object has been started again since: the moment is lost. */
  isLost: boolean;
  /** Its last page was read and did not arrive: it may make room for another. */
  mayEnd: boolean;
  isRestarted: boolean;
}

export function bookedMoment(
  begun: { count: number; cursor: EjectCursor },
  here: readonly PeekedMessage[],
  now: number,
): BookedMoment {
  const stood = new Map(
    here.map((one) => [numberOf(one), { attempts: one.attempts, dueAt: one.state === "delayed" ? one.dueAt : null }]),
  );
  expect(begun.count, "what the moment holds").toBe(stood.size);
  const isLost = false;
  return { cursor: begun.cursor, stood, seen: new Set(), usedAt: now, isLost, mayEnd: false, isRestarted: false };
}

/** Notes a page. `arrives` = whoever asked for it got it. Answers whether there is more. */
export function notePage(moment: BookedMoment, page: EjectedPage, arrives: boolean, now: number): boolean {
  const wasLost = moment.isLost || moment.usedAt + MOMENT_MS <= now;
  if (wasLost) expect(page.isRestarted, "the moment was lost").toBe(true);
  else if (!moment.mayEnd) expect(page.isRestarted, "the moment was there").toBe(moment.isRestarted);
  moment.isRestarted = page.isRestarted;
  moment.isLost = false;
  moment.usedAt = now;
  const fresh = new Set<number>();
  for (const message of page.messages) {
    const number = numberOf(message);
    const stood = moment.stood.get(number);
    expect(stood, `message ${number} was here when the moment began`).toBeDefined();
    expect(moment.seen.has(number) || fresh.has(number), `message ${number} comes once`).toBe(false);
    fresh.add(number);
    if (moment.isRestarted) continue;
    const { attempts, dueAt } = message;
    expect({ attempts, dueAt }, `how message ${number} stood`).toEqual(stood);
  }
  if (!arrives) {
    moment.mayEnd ||= page.next === null;
    return true;
  }
  for (const number of fresh) moment.seen.add(number);
  if (page.next !== null) moment.cursor = page.next;
  return page.next !== null;
}

/** The last page was read: nothing of the moment is missing, or, when it was lost, nothing that is still where it was. */
export function noteEnd({ stood, seen, cursor, isRestarted }: BookedMoment, here: readonly PeekedMessage[]): void {
  const isOwed = (one: PeekedMessage) =>
    stood.has(numberOf(one)) && (parseRef(one.ref)?.seq ?? Infinity) < cursor.bounds.tail;
  const owed = isRestarted ? here.filter(isOwed).map(numberOf) : [...stood.keys()];
  expect(
    owed.filter((number) => !seen.has(number)),
    "missing in the end",
  ).toEqual([]);
}

export function numberOf({ body }: StoredMessage): number {
  return Number(new TextDecoder().decode(body));
}
