import type { Engine } from "../engine/engine.ts";
import { clientName } from "../engine/transit.ts";
import type { OwnerCounters, OwnerView } from "./protocol.ts";

/** What an owner holds, and of one queue which partitions. */
export function viewOf(
  engine: Engine,
  owner: Pick<OwnerView, "owner" | "incarnation">,
  queue: string | null,
): OwnerView {
  const held = [...engine.queues.values()];
  const view: OwnerView = {
    ...owner,
    rings: held.reduce((sum, { rings }) => sum + rings.size, 0),
    queues: held.length,
    bytes: held.reduce((sum, { bytes }) => sum + bytes, 0),
    parkedPops: engine.parkedPops,
    subscribers: engine.subscriptions.size,
  };
  if (queue !== null) view.partitions = [...(engine.queues.get(queue)?.rings.keys() ?? [])].sort();
  return view;
}

type Kept = Pick<OwnerCounters, "forwarded" | "wipes" | "checkpointRows" | "alarmsSet">;

/** What an owner has done and holds, for the metrics; `kept` is counted outside of the engine. */
export function countersOf(engine: Engine, kept: Kept): OwnerCounters {
  return {
    ...engine.counters,
    ...kept,
    bytes: [...engine.queues.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    queues: Array.from(engine.queues.keys(), clientName),
    parkedPops: engine.parkedPops,
    subscribers: engine.subscriptions.size,
  };
}
