import { WaggleError } from "../contract/errors.ts";
import { ejectBody, peekQuery, removeBody, ejectPageBody } from "../contract/requests.ts";
import { parse } from "../contract/parse.ts";
import { readImport } from "../contract/import-body.ts";
import { unpack } from "../objects/protocol.ts";
import { json, rawJson } from "./answers.ts";
import { readBody, readJson } from "./body.ts";
import { ejectCursorText, parseEjectCursor } from "./eject-cursor.ts";
import { queryOf } from "./query.ts";
import { once, type Call, type Route } from "./routes.ts";
import { admin } from "./rules.ts";

const ejectOf = once(({ request }) => readJson(request, ejectBody));
const ejectPageOf = once(({ request }) => readJson(request, ejectPageBody));
const importOf = once(async ({ request }) => readImport(await readBody(request)));
const removeOf = once(({ request }) => readJson(request, removeBody));

/** Contents of ephemeral queues, for operators: to look at, to take out and to put back. */
export const transferRoutes: Route[] = [
  ["GET", "/api/v1/ephemeral/queues/:queue/peek", admin("peek"), peek],
  ["POST", "/api/v1/ephemeral/eject", admin("eject", ejectOf), eject],
  ["POST", "/api/v1/ephemeral/eject/page", admin("eject", ejectPageOf), ejectPage],
  ["POST", "/api/v1/ephemeral/import", admin("import", importOf), importMessages],
  ["POST", "/api/v1/ephemeral/remove", admin("remove messages", removeOf), remove],
];

async function peek({ request, broker, params }: Call): Promise<Response> {
  const { partition, limit } = queryOf(request.url);
  const asked = parse(peekQuery, { queue: params["queue"], partition, limit });
  const messages = await broker.peek(asked.queue, asked.partition ?? null, asked.limit);
  return rawJson(`{"queue":${JSON.stringify(asked.queue)},"messages":[${unpack(messages)}]}`);
}

async function eject(call: Call): Promise<Response> {
  const { queue } = await ejectOf(call);
  const ejectId = crypto.randomUUID().replaceAll("-", "");
  const { partitions, ...begun } = await call.broker.eject(queue, ejectId);
  const cursors = partitions.map(({ partition, count, place }) => {
    return { partition, count, cursor: ejectCursorText(partition, place) };
  });
  return json({ ejectId, queue, ...begun, partitions: cursors });
}

async function ejectPage(call: Call): Promise<Response> {
  const { queue, cursor: text, maxBytes } = await ejectPageOf(call);
  const cursor = parseEjectCursor(text);
  if (cursor === null) {
    throw new WaggleError("ephemeral_bad_request", "cursor must be what an eject, or its last page, answered");
  }
  const { partition, place } = cursor;
  const page = await call.broker.ejectPage(queue, partition, place, maxBytes);
  const next = page.next === null ? null : ejectCursorText(partition, page.next);
  const moment = page.isRestarted ? `,"moment":"restarted"` : "";
  return rawJson(`{"messages":[${unpack(page.json)}],"cursor":${JSON.stringify(next)}${moment}}`);
}

async function importMessages(call: Call): Promise<Response> {
  return json(await call.broker.import(await importOf(call)));
}

async function remove(call: Call): Promise<Response> {
  const { queue, ids } = await removeOf(call);
  const removed = await call.broker.discard(queue, ids);
  return json({ removed, unknown: ids.length - removed });
}
