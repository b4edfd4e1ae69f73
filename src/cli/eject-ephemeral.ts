import { v1, type Api } from "../operations/api.ts";
import type { Page, Source } from "./eject.ts";
import type { MessageLine } from "./eject-file.ts";

interface Begun {
  ejectId: string;
  takenAtMs: number;
  queue: string;
  tier: "declared" | "implicit";
  options: Record<string, unknown>;
  partitions: { partition: string; count: number; cursor: string }[];
}

interface Ejected {
  messages: { id: string; payload: unknown; enqueuedAtMs: number; attempts: number }[];
  cursor: string | null;
  moment?: "restarted";
}

export async function ephemeralSource(api: Api, queue: string): Promise<Source> {
  const begun = await api.post<Begun>(v1`ephemeral/eject`, { queue });
  const { ejectId, takenAtMs, tier, options, partitions } = begun;
  return {
    head: {
      kind: "ephemeral",
      queue,
      eject_id: ejectId,
      taken_on: new Date(takenAtMs).toISOString(),
      settings: { tier, options },
      partitions: partitions.map(({ partition, count }) => ({ partition, count })),
    },
    partitions,
    async page(partition, cursor, number): Promise<Page> {
      const { messages, cursor: next, moment } = await api.post<Ejected>(v1`ephemeral/eject/page`, { queue, cursor });
      const lines = messages.map(({ id, payload, enqueuedAtMs, attempts }, i) => {
        const enqueued_on = new Date(enqueuedAtMs).toISOString();
        const line: MessageLine & { body: unknown } = {
          number: number + i,
          partition,
          id,
          enqueued_on,
          attempts,
          body: payload,
        };
        return JSON.stringify(line);
      });
      return { lines, refs: messages.map(({ id }) => id), isRestarted: moment === "restarted", cursor: next };
    },
    async remove(ids) {
      const { unknown } = await api.post<{ unknown: number }>(v1`ephemeral/remove`, { queue, ids });
      return unknown;
    },
  };
}
