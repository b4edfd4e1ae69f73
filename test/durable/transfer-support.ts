import { addConsumer, createQueue, freshName, freshQueue, QUEUES, result, type Queue } from "./support.ts";

export interface Ejected {
  id: string;
  partition: string;
  ref: string;
  content_type: string;
  body: string;
  timestamp_ms: number;
  due_at_ms: number | null;
  attempts: number;
  origin: { source_queue: string; attempts: number; last_error: string } | null;
}

export interface Begun {
  eject_id: string;
  taken_on: string;
  queue: Queue;
  partitions: { partition: string; count: number; cursor: string }[];
}

export interface Page {
  messages: Ejected[];
  cursor: string | null;
  moment?: string;
}

interface Taken {
  imported: number;
  repeated: number;
}

/** A queue and its routes. */
export function transfer(queue: string) {
  const path = `${QUEUES}/${queue}`;
  const routes = {
    queue,
    path,
    send: (body: unknown, rest: Record<string, unknown> = {}) => result("POST", `${path}/messages`, { body, ...rest }),
    sendTexts: (bodies: string[], rest: Record<string, unknown> = {}) =>
      result("POST", `${path}/messages/batch`, {
        messages: bodies.map((body) => ({ body, content_type: "text" })),
        ...rest,
      }),
    pull: (body: Record<string, unknown> = {}) =>
      result<{ messages: { id: string; body: string; attempts: number; lease_id: string }[] }>(
        "POST",
        `${path}/messages/pull`,
        { batch_size: 100, ...body },
      ),
    ack: (leases: string[]) =>
      result("POST", `${path}/messages/ack`, { acks: leases.map((lease_id) => ({ lease_id })) }),
    purge: (refs: string[]) =>
      result<{ warnings: Record<string, string> }>("POST", `${path}/messages/purge`, {
        refs: refs.map((ref) => ({ ref })),
      }),
    count: async () => (await result<{ backlog_count: number }>("GET", `${path}/metrics`)).backlog_count,
    eject: () => result<Begun>("POST", `${path}/eject`),
    page: (cursor: string, max_bytes?: number) =>
      result<Page>("POST", `${path}/eject/page`, max_bytes === undefined ? { cursor } : { cursor, max_bytes }),
    import: (source: string, messages: unknown[], partition = "Default") =>
      result<Taken>("POST", `${path}/import`, { source, partition, messages }),
    /** Everything that a moment holds; `between` happens after each page. */
    all: async (begun: Begun, max_bytes?: number, between: (page: Page) => unknown = () => {}) => {
      const messages: Ejected[] = [];
      for (const { cursor: first } of begun.partitions) {
        for (let cursor: string | null = first; cursor !== null;) {
          const page: Page = await routes.page(cursor, max_bytes);
          messages.push(...page.messages);
          cursor = page.cursor;
          await between(page);
        }
      }
      return messages;
    },
  };
  return routes;
}

/** A fresh queue with a pull consumer. */
export async function pulledQueue(settings: Record<string, unknown> = {}) {
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, { type: "http_pull", settings });
  return transfer(queue_id);
}

/** A queue whose only message is leased in vain until it is given up: the queue that it goes to. */
export async function deadLettered(body: string) {
  const dead = await createQueue(freshName());
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, {
    type: "http_pull",
    dead_letter_queue: dead.queue_name,
    settings: { max_retries: 0 },
  });
  const from = transfer(queue_id);
  await from.sendTexts([body]);
  const [message] = (await from.pull()).messages;
  await result("POST", `${from.path}/messages/ack`, { retries: [{ lease_id: message?.lease_id }] });
  return { from, dead: transfer(dead.queue_id) };
}

/** An ejected message as an import takes it. */
export function importable({ partition: _partition, ref: _ref, ...message }: Ejected, number: number) {
  return { number, ...message };
}

/** What stays the same on the way out and back. */
export function kept({ ref: _ref, ...message }: Ejected) {
  return message;
}
