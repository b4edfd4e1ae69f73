import { connect } from "@nats-io/transport-node";
import { Waggle } from "../src/client/index.ts";

/** Answers requests with what they brought, in a process of its own, until it is ended. */
const [kind, where = "", queue = "", concurrency] = process.argv.slice(2);

if (kind === "waggle") {
  await new Waggle(where).respond(queue, (payload) => payload, { concurrency: Number(concurrency) });
} else {
  const connection = await connect({ servers: where });
  for await (const request of connection.subscribe(queue)) request.respond(request.string());
}
