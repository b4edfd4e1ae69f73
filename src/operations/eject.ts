import * as z from "zod/mini";
import { DEFAULT_PARTITION } from "../contract/limits.ts";
import { v1 } from "./api.ts";
import { field, operation, type Operation } from "./operation.ts";

/** Taking a whole queue out, and putting it back: piece by piece, for whoever keeps the pieces. */

const isEphemeral = field(z.optional(z.boolean()), "an in-memory queue, and not a durable one");

export const ejectOperations: Operation[] = [
  operation({
    name: "eject",
    summary:
      "Read a whole queue as of one moment. Without a cursor it begins, and answers a cursor for each partition.",
    input: {
      queue: field(z.string(), "the queue"),
      ephemeral: isEphemeral,
      cursor: field(z.optional(z.string()), "where to go on; the answer has the next one, or null at the end"),
    },
    args: ["queue"],
    run: (api, { queue, ephemeral, cursor }) => {
      if (ephemeral !== true) {
        return cursor === undefined
          ? api.post(v1`queues/${queue}/eject`)
          : api.post(v1`queues/${queue}/eject/page`, { cursor });
      }
      return cursor === undefined
        ? api.post(v1`ephemeral/eject`, { queue })
        : api.post(v1`ephemeral/eject/page`, { queue, cursor });
    },
  }),
  operation({
    name: "import",
    summary: "Store messages that were ejected, once: a number that the source has brought before stores nothing.",
    input: {
      queue: field(z.string(), "the queue"),
      ephemeral: isEphemeral,
      source: field(z.string(), "where they come from, such as the id of the eject"),
      partition: field(z._default(z.string(), DEFAULT_PARTITION), "the partition"),
      messages: field(
        z.array(z.looseObject({ number: z.int() })),
        "the messages: of a durable queue {number, id, content_type, body, timestamp_ms, due_at_ms?, attempts?, origin?}, of an in-memory one {number, payload}",
      ),
    },
    args: ["queue"],
    run: (api, { queue, ephemeral, ...rest }) =>
      ephemeral === true
        ? api.post(v1`ephemeral/import`, { queue, ...rest })
        : api.post(v1`queues/${queue}/import`, rest),
  }),
];
