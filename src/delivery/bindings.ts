import { QueueError } from "../contract/queue-errors.ts";

/** Bindings to what is no consumer. */
const OTHERS: ReadonlySet<string> = new Set(["ASSETS"]);

/** The names of the service bindings among a Worker's bindings, sorted. What each of them reaches cannot be seen. */
export function serviceBindings(env: object): string[] {
  const names = Object.entries(env).filter(([name, value]) => !OTHERS.has(name) && isService(value));
  return names.map(([name]) => name).sort();
}

/** The runtime has no global of this class to compare with. */
function isService(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object Fetcher]";
}

/**
 * The binding that reaches a consumer Worker: the one of that very name, or the one that is written like it in capitals
 * (`ORDERS_WORKER` for `orders-worker`). Throws a `QueueError` that lists the bindings there are.
 */
export function bindingOf(scriptName: string, bindings: readonly string[]): string {
  const found = bindings.includes(scriptName)
    ? scriptName
    : bindings.find((name) => name.toLowerCase().replaceAll("_", "-") === scriptName);
  if (found !== undefined) return found;
  const wanted = scriptName.toUpperCase().replaceAll("-", "_");
  const listed = bindings.length === 0 ? "there are none" : `there are ${bindings.join(", ")}`;
  throw new QueueError(
    10400,
    `script_name ${JSON.stringify(scriptName)} matches no service binding of this broker (${listed}); add [[services]] binding = ${JSON.stringify(wanted)}, service = ${JSON.stringify(scriptName)} to its wrangler.toml and deploy it`,
  );
}
