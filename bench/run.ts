import { parseArgs } from "node:util";
import { prepare, type Scenario } from "./bench.ts";
import { client } from "./scenarios/client.ts";
import { backlogs } from "./scenarios/durable-backlog.ts";
import { draining } from "./scenarios/durable-drain.ts";
import { latencies } from "./scenarios/durable-latency.ts";
import { durableRows } from "./scenarios/durable-rows.ts";
import { sending } from "./scenarios/durable-send.ts";
import { inboxes } from "./scenarios/inbox.ts";
import { parking } from "./scenarios/parked.ts";
import { popping } from "./scenarios/pop.ts";
import { pushing } from "./scenarios/push.ts";
import { againstRedis } from "./scenarios/redis.ts";
import { requestReply } from "./scenarios/request-reply.ts";
import { restarting } from "./scenarios/restart.ts";
import { rows } from "./scenarios/rows.ts";
import { sizes } from "./scenarios/size.ts";
import { sockets } from "./scenarios/socket.ts";
import { printHead, printRow } from "./table.ts";

const scenarios: Scenario[] = [
  client,
  pushing,
  popping,
  parking,
  sockets,
  sizes,
  inboxes,
  requestReply,
  rows,
  restarting,
  againstRedis,
  sending,
  latencies,
  draining,
  durableRows,
  backlogs,
];

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string", multiple: true } },
});
/** "durable" is all of "durable-send", "durable-drain" and so on. */
const isChosen = (name: string): boolean =>
  values.only === undefined || values.only.some((only) => name === only || name.startsWith(`${only}-`));
const chosen = scenarios.filter(({ name }) => isChosen(name));
if (chosen.length === 0) {
  console.error(`--only takes one of: ${scenarios.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const bench = await prepare(values.quick, printRow);
printHead();
for (const { run } of chosen) await run(bench);
process.exit(0);
