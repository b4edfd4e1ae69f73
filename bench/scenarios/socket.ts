import type { Bench, Scenario } from "../bench.ts";
import { Client, Connection, post } from "../client.ts";
import { interleave, quantile } from "../measure.ts";
import { freshQueues, payload, push, repeat, subscribePath } from "../requests.ts";
import { Subscriber, type Acks } from "../subscriber.ts";

const PARTITION = "Default";
const PREFETCH = 1000;
const CONNECTIONS = 4;

/** Messages to a subscriber over a WebSocket, against a bare hibernatable object that sends what it is told on its own. */
export const sockets: Scenario = {
  name: "socket",
  async run(bench) {
    await latency(bench);
    await throughput(bench, 100, "batch");
    await throughput(bench, 10, "batch");
    await throughput(bench, 100, "each");
  },
};

async function latency(bench: Bench): Promise<void> {
  const bytes = 100;
  const [waggle, bare] = await open(bench);
  const sides = [
    await deliveries(bench.broker.port, waggle.subscriber, push(waggle.queue, 1, bytes)),
    await deliveries(bench.bare.port, bare, post("/tell", framed(1, bytes))),
  ] as const;
  const count = bench.some(200);
  const [figure, reference] = await interleave(bench.rounds, [
    () => sides[0].round(count),
    () => sides[1].round(count),
  ]);
  const unit = "ms, reference: a bare object's socket";
  bench.report({ name: "delivery over a WebSocket, p50", figure, reference, unit, bar: { atMost: 1.3 } });
  bench.report({
    name: "delivery over a WebSocket, p95",
    figure: quantile(sides[0].latencies, 0.95),
    reference: quantile(sides[1].latencies, 0.95),
    unit: "ms, over all rounds",
  });
  for (const side of [...sides, waggle.subscriber, bare]) side.close();
}

/** One message at a time, each once the one before it has been acked. */
async function deliveries(port: number, subscriber: Subscriber, request: Buffer) {
  const connection = await Connection.open(port);
  const latencies: number[] = [];
  return {
    latencies,
    /** Answers the median of so many deliveries, in ms. */
    async round(count: number): Promise<number> {
      const round: number[] = [];
      for (let sample = 0; sample < count; sample++) {
        const { arrived, settled } = subscriber.expect(1);
        const sentAt = performance.now();
        const answer = connection.send(request);
        round.push((await arrived) - sentAt);
        await Promise.all([answer, settled]);
      }
      latencies.push(...round);
      return quantile(round, 0.5);
    },
    close: () => connection.close(),
  };
}

async function throughput(bench: Bench, batch: number, acks: Acks): Promise<void> {
  const bytes = 200;
  const count = bench.some(200);
  // On a busy machine a whole round may be pushed before its acks come: the default bound is 10,000 messages.
  const broker = await bench.start({ EPHEMERAL_QUEUE_MAX_LENGTH: count * batch });
  const [waggle, bare] = await open({ broker, bare: bench.bare }, acks);
  const clients = await Promise.all([broker, bench.bare].map(({ port }) => Client.open(port, CONNECTIONS)));
  const shares: number[] = [];
  const round = (client: Client | undefined, subscriber: Subscriber, request: Buffer) => async () => {
    const before = process.cpuUsage();
    const startedAt = performance.now();
    const { settled } = subscriber.expect(count * batch);
    await Promise.all([client?.rate(count, repeat(request), 201), settled]);
    const tookMs = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(before);
    shares.push((user + system) / 1000 / tookMs);
    return (count * batch * 1000) / tookMs;
  };
  const [figure, reference] = await interleave(bench.rounds, [
    round(clients[0], waggle.subscriber, push(waggle.queue, batch, bytes)),
    round(clients[1], bare, post("/tell", framed(batch, bytes))),
  ]);
  const name = `delivered and acked over a WebSocket, pushes of ${batch}${acks === "each" ? ", ids acked" : ""}`;
  const note = `the client is busy ${Math.round(100 * quantile(shares, 0.5))} % of the time`;
  const unit = "messages/s, reference: a bare object's socket";
  bench.report({ name, figure, reference, unit, bar: { atLeast: 0.7 }, note });
  for (const side of [...clients, waggle.subscriber, bare]) side.close();
  await broker.stop();
}

/** A subscriber of the broker's, and one of the bare object's. */
async function open({ broker, bare }: Pick<Bench, "broker" | "bare">, acks: Acks = "batch") {
  const [queue = ""] = freshQueues(1);
  const subscriber = await Subscriber.open(broker.port, subscribePath(queue, PARTITION, PREFETCH), acks);
  return [{ queue, subscriber }, await Subscriber.open(bare.port, "/socket", acks)] as const;
}

/** A frame of the broker's, down to the length of its ids: the bare object is told to send just what the broker sends. */
function framed(count: number, bytes: number): string {
  const messages = Array.from(
    { length: count },
    (_, i) =>
      `{"id":"e:0123456789abcdef:${PARTITION}:${123_456 + i}","partition":"${PARTITION}","attempts":1,"payload":${payload(bytes)}}`,
  );
  return `{"type":"messages","batch":1234567890123456,"messages":[${messages.join(",")}]}`;
}
