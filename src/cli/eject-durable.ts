import { v1, type Api } from "../operations/api.ts";
import type { Page, Source } from "./eject.ts";
import type { MessageLine } from "./eject-file.ts";
import { wrap, type ContentType } from "./wrap.ts";

interface Begun {
  eject_id: string;
  taken_on: string;
  queue: { queue_name: string; settings: Record<string, unknown> };
  partitions: { partition: string; count: number; cursor: string }[];
}

interface Ejected {
  messages: EjectedMessage[];
  cursor: string | null;
  moment?: "restarted";
}

interface EjectedMessage {
  id: string;
  ref: string;
  content_type: ContentType;
  body: string;
  timestamp_ms: number;
  due_at_ms: number | null;
  attempts: number;
  origin: { source_queue: string; attempts: number; last_error: string } | null;
}

/** Bodies of one page. Short messages have a line that is much longer than their body. */
const PAGE_BYTES = 64 * 1024;
/** Refs that one call removes. */
const REFS = 100;

export async function durableSource(api: Api, queue: string): Promise<Source> {
  const begun = await api.post<Begun>(v1`queues/${queue}/eject`);
  const { eject_id, taken_on, partitions } = begun;
  return {
    head: {
      kind: "durable",
      queue: begun.queue.queue_name,
      eject_id,
      taken_on,
      settings: begun.queue.settings,
      partitions: partitions.map(({ partition, count }) => ({ partition, count })),
    },
    partitions,
    async page(partition, cursor, number): Promise<Page> {
      const {
        messages,
        cursor: next,
        moment,
      } = await api.post<Ejected>(v1`queues/${queue}/eject/page`, { cursor, max_bytes: PAGE_BYTES });
      const lines = messages.map((message, i) => lineOf(message, { partition, number: number + i }));
      return { lines, refs: messages.map(({ ref }) => ref), isRestarted: moment === "restarted", cursor: next };
    },
    async remove(refs) {
      let unknown = 0;
      for (let from = 0; from < refs.length; from += REFS) {
        const some = refs.slice(from, from + REFS).map((ref) => ({ ref }));
        const { warnings } = await api.post<{ warnings: object }>(v1`queues/${queue}/messages/purge`, { refs: some });
        unknown += Object.keys(warnings).length;
      }
      return unknown;
    },
  };
}

function lineOf(message: EjectedMessage, place: Pick<MessageLine, "number" | "partition">): string {
  const { id, content_type, timestamp_ms, due_at_ms, attempts, origin, body } = message;
  const head: MessageLine & Record<string, unknown> = {
    ...place,
    id,
    content_type,
    enqueued_on: new Date(timestamp_ms).toISOString(),
    due_on: due_at_ms === null ? null : new Date(due_at_ms).toISOString(),
    attempts,
    origin,
  };
  return `${JSON.stringify(head).slice(0, -1)},${wrap(content_type, body)}}`;
}
