import { note, stamps } from "./stamps.js";

/**
 * What a consumer Worker has been handed. It lies in the module: the handler that counts and the request that asks for the
 * count are in one isolate, and counting costs next to nothing.
 */
const ledger = {
  /** How often each message has come, by its number. */
  times: new Uint8Array(1 << 20),
  seen: 0,
  batches: 0,
  /** A handler waits until it is let go. */
  held: false,
};

export async function handle(batch) {
  note(batch.messages[0].body.n);
  while (ledger.held) await scheduler.wait(1);
  for (const { body } of batch.messages) ledger.times[body.n]++;
  ledger.seen += batch.messages.length;
  ledger.batches++;
}

export async function answer(request) {
  const { pathname, searchParams } = new URL(request.url);
  const count = Number(searchParams.get("count"));
  if (pathname === "/reset") {
    ledger.times.fill(0);
    Object.assign(ledger, { seen: 0, batches: 0, held: searchParams.has("hold") });
  }
  if (pathname === "/release") ledger.held = false;
  // A while at a time: a request that is open for long looks dead to the client.
  const until = Date.now() + 2000;
  if (pathname === "/seen") while (ledger.seen < count && Date.now() < until) await scheduler.wait(2);
  if (pathname === "/stamps") return Response.json(stamps);
  const { seen, batches } = ledger;
  return Response.json({ seen, batches, ...(pathname === "/tally" && tally(ledger.times.subarray(0, count))) });
}

function tally(times) {
  return { missing: times.filter((n) => n === 0).length, repeated: times.filter((n) => n > 1).length };
}
