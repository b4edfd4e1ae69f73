import * as z from "zod/mini";
import { MAX_BATCH_MESSAGES } from "../contract/queue-limits.ts";
import { v1, type Api } from "./api.ts";
import { field, operation, type Operation } from "./operation.ts";
import { queue } from "./queues.ts";
import { whole } from "./whole.ts";

/** Watching a durable queue: one look after the other, each from where the last one ended. */

const MAX_WAIT_SECONDS = 60;
const LOOK_MS = 500;

export interface Run {
  messages: unknown[];
  after: string;
}

export const tailOperation: Operation = operation({
  name: "queue tail",
  summary:
    "Show messages as they become ready. Nothing is leased; what is consumed within half a second may be missed.",
  input: {
    queue,
    after: field(z._default(z.string(), "end"), 'where to begin: "end", or the `after` of the last call'),
    waitSeconds: field(
      z._default(whole(0, MAX_WAIT_SECONDS), 10),
      `how long to wait for the first message, up to ${MAX_WAIT_SECONDS} s`,
    ),
  },
  args: ["queue"],
  run: tail,
});

async function tail(
  api: Api,
  { queue: id, after, waitSeconds }: { queue: string; after: string; waitSeconds: number },
) {
  const until = Date.now() + waitSeconds * 1000;
  for (let from = after; ;) {
    const run = await api.post<Run>(v1`queues/${id}/messages/peek`, { batch_size: MAX_BATCH_MESSAGES, after: from });
    if (run.messages.length > 0 || Date.now() + LOOK_MS > until) return run;
    from = run.after;
    await api.wait(LOOK_MS);
  }
}
