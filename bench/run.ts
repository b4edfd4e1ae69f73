import { parseArgs } from "node:util";
import { prepare, type Scenario } from "./bench.ts";
import { client } from "./scenarios/client.ts";
import { inboxes } from "./scenarios/inbox.ts";
import { parking } from "./scenarios/parked.ts";
import { popping } from "./scenarios/pop.ts";
import { pushing } from "./scenarios/push.ts";
import { againstRedis } from "./scenarios/redis.ts";
import { rows } from "./scenarios/rows.ts";
import { sizes } from "./scenarios/size.ts";
import { printHead, printRow } from "./table.ts";

const scenarios: Scenario[] = [client, pushing, popping, parking, sizes, inboxes, rows, againstRedis];

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string", multiple: true } },
});
const chosen = scenarios.filter(({ name }) => values.only === undefined || values.only.includes(name));
if (chosen.length === 0) {
  console.error(`--only takes one of: ${scenarios.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const bench = await prepare(values.quick, printRow);
printHead();
for (const { run } of chosen) await run(bench);
process.exit(0);
