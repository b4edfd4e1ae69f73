import { expect, it } from "vitest";
import { claimsSchema, mintBody } from "../../src/contract/claims.ts";
import { parse } from "../../src/contract/parse.ts";

const ephemeral = (entry: object) => ({ ephemeral: [{ queue: "q", verbs: ["pop"], ...entry }] });
const durable = (entry: object) => ({ queues: [{ queue: "q", verbs: ["send"], ...entry }] });

it.each([
  {},
  { admin: true },
  { ephemeral: [], queues: [] },
  ephemeral({}),
  ephemeral({ queue: "*", partition: "room-*", group: "ui 1: ü*", verbs: ["push", "pop", "ack"] }),
  durable({ queue: "*" }),
  durable({ queue: "orders-*", verbs: ["send", "pull", "ack", "peek", "metrics"] }),
  durable({ queue: "0123456789abcdef0123456789abcdef" }),
])("takes %j", (claims) => {
  expect(parse(claimsSchema, claims)).toEqual(claims);
});

it.each([
  [null, "object"],
  [[], "object"],
  [{ admin: false }, "admin"],
  [{ admin: "true" }, "admin"],
  [{ admin: 1 }, "admin"],
  [{ Admin: true }, "Admin"],
  [{ ephemeral: {} }, "ephemeral"],
  [{ ephemeral: ["q"] }, "ephemeral[0]"],
  [{ ephemeral: Array.from({ length: 101 }, () => ephemeral({}).ephemeral[0]) }, "101"],
  [ephemeral({ queue: "" }), "ephemeral[0].queue"],
  [ephemeral({ queue: undefined }), "ephemeral[0].queue"],
  [ephemeral({ queue: "a*b" }), "*"],
  [ephemeral({ queue: "**" }), "*"],
  [ephemeral({ queue: "*a" }), "*"],
  [ephemeral({ queue: "x".repeat(513) }), "queue"],
  [ephemeral({ queue: "a\u0000" }), "queue"],
  [ephemeral({ queue: 7 }), "queue"],
  [ephemeral({ partition: null }), "partition"],
  [ephemeral({ partition: "" }), "partition"],
  [ephemeral({ group: "a*b" }), "group"],
  [ephemeral({ verbs: [] }), "verbs"],
  [ephemeral({ verbs: ["send"] }), "verbs[0]"],
  [ephemeral({ verbs: ["*"] }), "verbs[0]"],
  [ephemeral({ verbs: "pop" }), "verbs"],
  [ephemeral({ partitions: "p" }), "partitions"],
  [durable({ queue: "Orders" }), "queues[0].queue"],
  [durable({ queue: "or*ers" }), "queues[0].queue"],
  [durable({ queue: "" }), "queues[0].queue"],
  [durable({ verbs: ["push"] }), "verbs[0]"],
  [durable({ partition: "p" }), "partition"],
])("refuses %j and says why", (claims, says) => {
  expect(() => parse(claimsSchema, claims)).toThrow(says);
});

it.each([0, -1, 1.5, "60", null, undefined, 31_536_001])("mints nothing for %j seconds", (expiresInSeconds) => {
  expect(() => parse(mintBody, { claims: {}, expiresInSeconds })).toThrow("expiresInSeconds");
});
