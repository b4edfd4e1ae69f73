import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { QueueError } from "../../src/contract/queue-errors.ts";
import { bindingOf, serviceBindings } from "../../src/delivery/bindings.ts";

const BINDINGS = ["MAIL", "ORDERS_WORKER", "Mixed_Case"];

class Fetcher {
  readonly [Symbol.toStringTag] = "Fetcher";
}
class DurableObjectNamespace {
  readonly [Symbol.toStringTag] = "DurableObjectNamespace";
}

it("finds service bindings, and nothing else", () => {
  const bindings = {
    ZOO: new Fetcher(),
    ORDERS_WORKER: new Fetcher(),
    ASSETS: new Fetcher(),
    OWNER: new DurableObjectNamespace(),
    AUTH: "off",
    OWNERS: 8,
    NOTHING: undefined,
    JSON: { fetch: () => {} },
  };
  expect(serviceBindings(bindings)).toEqual(["ORDERS_WORKER", "ZOO"]);
  expect(serviceBindings({})).toEqual([]);
  // The runtime's own: this run has the two that its runner adds.
  for (const name of serviceBindings(env)) expect(name).toMatch(/^__VITEST/);
  expect(serviceBindings(env)).not.toEqual([]);
});

it.each([
  ["ORDERS_WORKER", "ORDERS_WORKER"],
  ["orders-worker", "ORDERS_WORKER"],
  ["mail", "MAIL"],
  ["Mixed_Case", "Mixed_Case"],
  ["mixed-case", "Mixed_Case"],
])("reaches %s by %s", (script, binding) => {
  expect(bindingOf(script, BINDINGS)).toBe(binding);
});

it("prefers the binding of the very name", () => {
  expect(bindingOf("a-b", ["A_B", "a-b"])).toBe("a-b");
});

function missing(): string {
  return bindingOf("new-worker", BINDINGS);
}

it("says what there is, and what to add", () => {
  expect(missing).toThrow(QueueError);
  expect(missing).toThrow(BINDINGS.join(", "));
  expect(missing).toThrow('binding = "NEW_WORKER", service = "new-worker"');
  expect(() => bindingOf("x", [])).toThrow("there are none");
});
