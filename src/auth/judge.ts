import type { Claims, EphemeralClaim } from "../contract/rights.ts";
import { QUEUE_MODE } from "../contract/limits.ts";
import { isQueueId } from "../contract/queue-names.ts";
import type { DurableNeed, EphemeralNeed, Need } from "./need.ts";
import { matches } from "./pattern.ts";

/** What a token lacks for a request, in words that name the verb and the queue; null = it may. */
export function lacking(claims: Claims, need: Need): string | null {
  if (claims.admin === true) return null;
  switch (need.of) {
    case "token":
      return null;
    case "admin":
      return `this token may not ${need.verb}${on(need.queue)}: that needs "admin"`;
    case "ephemeral":
      return ephemeral(claims, need);
    case "depth":
      if (claims.ephemeral?.some((claim) => seesAll(claim, need.queue))) return null;
      return `this token may not see the depth${of(need.queue)}: that needs "pop" on it, confined to no partition and no group, or "admin"`;
    case "durable":
      return durable(claims, need);
  }
}

function ephemeral({ ephemeral: entries = [] }: Claims, need: EphemeralNeed): string | null {
  const { verb, queue, group, partitions } = need;
  const own = entries.filter(
    (claim) => claim.verbs.includes(verb) && matches(claim.queue, queue) && reachesGroup(claim, group),
  );
  if (own.length === 0) return `this token may not ${verb}${on(queue)}${groupText(group)}`;
  if (partitions === null) {
    if (own.some(({ partition }) => partition === undefined)) return null;
    return `this token may not ${verb}${on(queue)} without naming a partition: it is confined to some`;
  }
  const strange = partitions.find((partition) => !own.some((claim) => reachesPartition(claim, partition)));
  if (strange === undefined) return null;
  return `this token may not ${verb}${on(queue)} in partition ${quoted(strange)}${groupText(group)}`;
}

function reachesGroup(claim: EphemeralClaim, group: string | null): boolean {
  return group === null || claim.group === undefined || matches(claim.group, group);
}

function reachesPartition({ partition: pattern }: EphemeralClaim, partition: string): boolean {
  return pattern === undefined || matches(pattern, partition);
}

function seesAll({ queue: pattern, partition, group, verbs }: EphemeralClaim, queue: string): boolean {
  return partition === undefined && group === undefined && verbs.includes("pop") && matches(pattern, queue);
}

/**
 * Claims name queues by name, and which name an id goes by only an object could tell. An id is therefore matched by
 * itself alone: taken for a name, `a*` would reach every sixteenth queue.
 */
function durable({ queues: entries = [] }: Claims, { verb, queue }: DurableNeed): string | null {
  const isId = isQueueId(queue);
  const may = entries.some(
    (claim) => claim.verbs.includes(verb) && (isId ? claim.queue === queue : matches(claim.queue, queue)),
  );
  if (may) return null;
  const why = isId ? ": a queue that is named by its id needs that id in the claim" : "";
  return `this token may not ${verb}${on(queue)}${why}`;
}

function on(queue: string | null): string {
  return queue === null ? "" : ` on the queue ${quoted(queue)}`;
}

function of(queue: string): string {
  return ` of the queue ${quoted(queue)}`;
}

function groupText(group: string | null): string {
  if (group === null) return "";
  return group === QUEUE_MODE ? " without a group" : ` as the group ${quoted(group)}`;
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
