import { expect, it } from "vitest";
import { isUnreachable, lacksMethod } from "../../src/delivery/unreachable.ts";

const NO_HANDLER = new TypeError('The RPC receiver does not implement the method "queue".');

it("knows by its text each error of a call that reached nobody", () => {
  const errors = [
    new Error('Worker "orders-worker" not found. Make sure it is running locally.'),
    NO_HANDLER,
    new TypeError(
      "Illegal invocation: function called with incorrect `this` reference. See https://developers.cloudflare.com/workers/observability/errors/#illegal-invocation-errors for details.",
    ),
  ];
  expect(errors.map(isUnreachable)).toEqual([true, true, true]);
});

it("takes every other error for one of the handler", () => {
  const errors = [
    new Error("Network connection lost."),
    new Error("The Workers runtime canceled this request because it detected that your Worker's code had hung"),
    new TypeError('The RPC receiver does not implement the method "enqueue".'),
    new Error('order 7: Worker "orders-worker" not found. Make sure it is running locally.'),
    new Error("not found"),
    "Illegal invocation",
    undefined,
  ];
  expect(errors.map(isUnreachable)).toEqual(errors.map(() => false));
});

it("knows that a method is missing, and which", () => {
  expect(lacksMethod(NO_HANDLER, "queue")).toBe(true);
  expect(lacksMethod(NO_HANDLER, "waggleDeliver")).toBe(false);
});
