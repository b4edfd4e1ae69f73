import { perform, type Operation } from "../operations/operation.ts";
import { v1 } from "../operations/api.ts";
import { interrupted, type Context } from "./context.ts";
import { inputOf } from "./options.ts";
import { bodyText, payloadLines } from "./render.ts";
import { shown } from "./table.ts";
import type { Verb } from "./verbs.ts";

/** A pop that is left stays parked until the broker has noticed, with its group: each is waited for, and none is long. */
const LOOK_SECONDS = 1;

interface Looked {
  messages: {
    id: string;
    body: string;
    partition: string;
    payload: unknown;
    metadata: { "CF-Content-Type": string };
  }[];
  after?: string;
  group?: string;
}

/** Shows messages until Ctrl-C: each look goes on from where the last one ended, which `next` takes from its result. */
function tailVerb(
  next: "after" | "group",
  leave?: (context: Context, input: Record<string, unknown>) => Promise<void>,
): Verb {
  return {
    async run(context, operation, args, options) {
      const signal = interrupted();
      const input: Record<string, unknown> = { waitSeconds: LOOK_SECONDS, ...inputOf(operation, args, options) };
      const api = context.api();
      try {
        while (!signal.aborted) {
          const looked = (await perform(operation, api, input)) as Looked;
          input[next] = looked[next];
          for (const message of looked.messages) await context.output.line(lineOf(context, operation, message));
        }
      } finally {
        await leave?.(context, input);
      }
    },
  };
}

function lineOf({ output }: Context, { name }: Operation, message: Looked["messages"][number]): string {
  if (output.isJson) return JSON.stringify(message);
  if (name === "ephemeral tail") return payloadLines([message]);
  return `${message.id}  ${shown(bodyText(message))}`;
}

export const tailQueue: Verb = tailVerb("after");

/** The group of a tail goes with it: it would pin messages for as long as the queue waits for silent groups. */
export const tailEphemeral: Verb = tailVerb("group", async (context, { queue, group }) => {
  if (typeof group !== "string" || !group.startsWith("tail-")) return;
  await context.api().delete(v1`ephemeral/queues/${String(queue)}/groups/${group}`);
});
