import { declarationOperations } from "./declarations.ts";
import { ephemeralOperations } from "./ephemeral.ts";
import { messageOperations } from "./messages.ts";
import { text, type Operation } from "./operation.ts";
import { queueOperations } from "./queues.ts";
import { systemOperations } from "./system.ts";

/*
 * A new route is described in the file of its table, under the key "METHOD /path" that it has there: an id, a summary, the
 * schemas that it parses its request with, a schema of its answer and the codes that it refuses with. A route of queues is
 * described once for both of its mounts. `npm run openapi` then writes the document anew. The tests say what is missing:
 * `test/durable/openapi-routes.test.ts` holds these keys against the routes, `openapi-answers.test.ts` the schemas
 * against what is answered.
 *
 * Node makes the document, hence nothing here imports more of the broker than `contract`, and the Worker imports none of this.
 */

const inAccount = { account: text("any text: a broker has one account") };

/** Every route that there is, by "METHOD /path". */
export const operations: Record<string, Operation> = {
  ...mounted("/api/v1/queues", { ...messageOperations, ...queueOperations }, (operation) => operation),
  ...mounted("/client/v4/accounts/:account/queues", { ...messageOperations, ...queueOperations }, asCloudflareHasIt),
  ...declarationOperations,
  ...ephemeralOperations,
  ...systemOperations,
};

function asCloudflareHasIt(operation: Operation): Operation {
  return { ...operation, id: `${operation.id}InAccount`, params: { ...inAccount, ...operation.params } };
}

function mounted(
  mount: string,
  below: Record<string, Operation>,
  as: (operation: Operation) => Operation,
): Record<string, Operation> {
  return Object.fromEntries(
    Object.entries(below).map(([key, operation]) => [key.replace(" ", ` ${mount}`), as(operation)]),
  );
}
