import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@nats-io/transport-node";
import { Waggle } from "../../src/client/index.ts";
import type { Scenario } from "../bench.ts";
import { Child } from "../children.ts";
import { interleave, quantile, type Round } from "../measure.ts";
import { startNats } from "../nats.ts";
import { freshQueues, payload } from "../requests.ts";

const IN_FLIGHT = 100;
const BYTES = 100;
const TIMEOUT_MS = 10_000;

/** Sends a request through a client and waits for its reply. */
type Ask = (request: unknown) => Promise<unknown>;

/** Request and reply through the client, requester and responder in processes of their own, and the same over NATS. */
export const requestReply: Scenario = {
  name: "request-reply",
  async run(bench) {
    const nats = await startNats();
    if (nats === null) console.log("request-reply: nats-server is not installed; its figures are left out");
    const [queue = ""] = freshQueues(1);
    const waggle = new Waggle(bench.broker.url);
    const responders = [respond("waggle", bench.broker.url, queue)];
    const asks: Ask[] = [(request) => waggle.request(queue, request, { timeout: TIMEOUT_MS })];
    const connection = nats === null ? null : await connect({ servers: nats.server });
    if (nats !== null && connection !== null) {
      responders.push(respond("nats", nats.server, queue));
      asks.push(async (request) => {
        const reply = await connection.request(queue, JSON.stringify(request), { timeout: TIMEOUT_MS });
        return reply.json();
      });
    }
    for (const ask of asks) await untilAnswered(ask);

    const [p50, natsP50] = await interleave(
      bench.rounds,
      asks.map((ask) => oneByOne(ask, bench.some(200))),
    );
    bench.report({ name: "request/reply, one at a time, p50", ...figures(p50, natsP50), unit: "ms, reference: NATS" });
    const [rate, natsRate] = await interleave(
      bench.rounds,
      asks.map((ask) => together(ask, bench.some(2000))),
    );
    const name = `request/reply, ${IN_FLIGHT} under way`;
    bench.report({ name, ...figures(rate, natsRate), unit: "requests/s, reference: NATS" });

    waggle.close();
    await connection?.close();
    await Promise.all(responders.map((responder) => responder.end("SIGTERM")));
    await nats?.stop();
  },
};

function respond(kind: "waggle" | "nats", where: string, queue: string): Child {
  const main = join(import.meta.dirname, "..", "responder-process.ts");
  return new Child(process.execPath, [main, kind, where, queue, String(IN_FLIGHT)]);
}

/** A responder that has just been started is not there yet: requests are refused until it is. */
async function untilAnswered(ask: Ask): Promise<void> {
  const until = Date.now() + TIMEOUT_MS;
  for (;;) {
    try {
      await ask(null);
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await sleep(50);
    }
  }
}

/** Answers the median of so many requests, in ms. */
function oneByOne(ask: Ask, count: number): Round {
  const request: unknown = JSON.parse(payload(BYTES));
  return async () => {
    const latencies: number[] = [];
    for (let asked = 0; asked < count; asked++) {
      const askedAt = performance.now();
      await ask(request);
      latencies.push(performance.now() - askedAt);
    }
    return quantile(latencies, 0.5);
  };
}

/** Answers requests per second. */
function together(ask: Ask, count: number): Round {
  const request: unknown = JSON.parse(payload(BYTES));
  return async () => {
    let asked = 0;
    const startedAt = performance.now();
    const requester = async () => {
      while (asked++ < count) await ask(request);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, requester));
    return (count * 1000) / (performance.now() - startedAt);
  };
}

function figures(figure = NaN, reference?: number): { figure: number; reference?: number } {
  return reference === undefined ? { figure } : { figure, reference };
}
