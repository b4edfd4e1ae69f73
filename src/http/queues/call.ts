import type * as z from "zod/mini";
import { WaggleError } from "../../contract/errors.ts";
import { QueueError } from "../../contract/queue-errors.ts";
import { parseQueue } from "../../contract/queue-parse.ts";
import { bindingOf, serviceBindings } from "../../delivery/bindings.ts";
import { DurableQueues } from "../../durable-queues.ts";
import { parseText } from "../../contract/json-text.ts";
import { readBody } from "../body.ts";
import type { Call, Method, Route } from "../routes.ts";
import type { Rule } from "../rules.ts";

/** What a route of durable queues is called with. */
export interface QueueCall extends Call {
  queues: DurableQueues;
}

export type QueueRoute = [method: Method, path: string, rule: Rule, handler: (call: QueueCall) => Promise<Response>];

/** A route below one of the paths where it is mounted. */
export function mounted(mount: string, [method, path, rule, handler]: QueueRoute): Route {
  return [method, mount + path, rule, (call) => handler({ ...call, queues: new DurableQueues(call.env) })];
}

/** Nesting of a body that carries a message; one level costs an object while it is parsed. */
const MAX_DEPTH = 1000;

/** Reads a body and checks it; none at all counts as an empty object. */
export async function readQueueBody<T>(request: Request, schema: z.core.$ZodType<T>): Promise<T> {
  return parseQueue(schema, await readQueueValue(request));
}

export async function readQueueValue(request: Request): Promise<unknown> {
  try {
    const { text } = await readBody(request);
    return text === "" ? {} : parseText(text, MAX_DEPTH);
  } catch (error) {
    if (error instanceof WaggleError && error.code === "ephemeral_bad_request") {
      throw new QueueError(10207, error.message);
    }
    throw error;
  }
}

/** One segment of the path. */
export function param({ params }: Call, name: string): string {
  return params[name] ?? "";
}

/** Which binding reaches the Worker of this name; throws when none does. */
export function bindingsOf({ env }: Call): (scriptName: string) => string {
  const bindings = serviceBindings(env);
  return (scriptName) => bindingOf(scriptName, bindings);
}
