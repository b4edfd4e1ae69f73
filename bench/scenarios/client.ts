import type { Scenario } from "../bench.ts";
import { Client, get } from "../client.ts";
import { interleave } from "../measure.ts";
import { repeat } from "../requests.ts";

/** How busy this process is while the bare Worker answers as fast as it can: near 1 it would be measuring itself. */
export const client: Scenario = {
  name: "client",
  async run(bench) {
    const connections = await Client.open(bench.bare.port, 16);
    const shares: number[] = [];
    const [rate] = await interleave(bench.rounds, [
      async () => {
        const startedAt = performance.now();
        const before = process.cpuUsage();
        const figure = await connections.rate(bench.some(2000), repeat(get("/")), 200);
        const { user, system } = process.cpuUsage(before);
        shares.push((user + system) / 1000 / (performance.now() - startedAt));
        return figure;
      },
    ]);
    const busy = Math.round(100 * Math.max(...shares));
    const note = `the client is busy ${busy} % of the time at most`;
    bench.report({ name: "a Worker that does nothing, 16 connections", figure: rate, unit: "requests/s", note });
    connections.close();
  },
};
