import type { Need } from "../../src/auth/need.ts";
import { DURABLE_VERBS, EPHEMERAL_VERBS, type Claims } from "../../src/contract/rights.ts";
import type { Method, Route } from "../../src/http/routes.ts";
import type { Sent } from "./support.ts";

/** What the paths of samples name. */
export const QUEUE = "orders";
const SEGMENTS: Record<string, string> = { queue: QUEUE, group: "g", consumer: "c", source: "s", account: "a" };

/** What is sent where the path does not say which queue is meant. */
const REST: Record<string, { query?: string; body?: unknown }> = {
  "POST /api/v1/ephemeral/push": { body: { queue: QUEUE, messages: [{ payload: 1 }] } },
  "GET /api/v1/ephemeral/pop": { query: `?queue=${QUEUE}` },
  "GET /api/v1/ephemeral/subscribe": { query: `?queue=${QUEUE}` },
  "POST /api/v1/ephemeral/ack": { body: { queue: QUEUE, acks: [{ id: "e:1:Default:1" }] } },
  "POST /api/v1/ephemeral/configure": { body: { queue: QUEUE } },
  "POST /api/v1/ephemeral/reset": { body: { queue: QUEUE } },
  "POST /api/v1/ephemeral/eject": { body: { queue: QUEUE } },
  "POST /api/v1/ephemeral/eject/page": { body: { queue: QUEUE, cursor: "x" } },
  "POST /api/v1/ephemeral/import": {
    body: { queue: QUEUE, source: "s", partition: "p", messages: [{ number: 1, payload: 1 }] },
  },
  "POST /api/v1/ephemeral/remove": { body: { queue: QUEUE, ids: [] } },
  "POST /api/v1/tokens": { body: { claims: {}, expiresInSeconds: 1 } },
};

export function nameOf([method, path]: Route): string {
  return `${method} ${path}`;
}

/** A request of a route. */
export function sampleOf(route: Route): Sent & { method: Method } {
  const [method, path] = route;
  const { query = "", body } = REST[nameOf(route)] ?? {};
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const segment = SEGMENTS[name];
    if (segment === undefined) throw new Error(`a sample of ${path} needs a value for :${name}`);
    return segment;
  });
  const isRead = method === "GET" || method === "DELETE";
  return { method, path: filled + query, ...(isRead ? {} : { body: body ?? {} }) };
}

/** No more than a request needs, on this queue. */
export function rightClaims(need: Need, queue: string): Claims {
  switch (need.of) {
    case "token":
      return {};
    case "admin":
      return { admin: true };
    case "depth":
      return { ephemeral: [{ queue, verbs: ["pop"] }] };
    case "durable":
      return { queues: [{ queue, verbs: [need.verb] }] };
    case "ephemeral": {
      const { verb, group, partitions } = need;
      const [partition] = partitions ?? [];
      const confined = { ...(group !== null && { group }), ...(partition !== undefined && { partition }) };
      return { ephemeral: [{ queue, ...confined, verbs: [verb] }] };
    }
  }
}

/** Everything but what a request needs, on this queue. */
export function otherVerbs(need: Need, queue: string): Claims {
  const spared = need.of === "depth" ? "pop" : need.of === "ephemeral" ? need.verb : null;
  const durable = need.of === "durable" ? need.verb : null;
  return {
    ephemeral: [{ queue, verbs: EPHEMERAL_VERBS.filter((verb) => verb !== spared) }],
    queues: [{ queue, verbs: DURABLE_VERBS.filter((verb) => verb !== durable) }],
  };
}
