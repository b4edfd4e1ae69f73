import { expect, it, vi } from "vitest";
import type { Claims } from "../../src/contract/rights.ts";
import { mint, nowSeconds, refusedUntouched, send, sign } from "./support.ts";

const realNow = Date.now.bind(Date);

function passTime(ms: number): void {
  vi.spyOn(Date, "now").mockImplementation(() => realNow() + ms);
}

const headers = { upgrade: "websocket" };
const pathOf = (partition: string, more = "") =>
  `/api/v1/ephemeral/subscribe?queue=presence&partition=${partition}&group=ui-1${more}`;

/** May read room 7, and push into it, and ack nothing. */
const ROOM: Claims = { ephemeral: [{ queue: "presence", partition: "room-7", verbs: ["pop", "push"] }] };

const ROOM_9: Claims = { ephemeral: [{ queue: "presence", partition: "room-9", verbs: ["pop", "push"] }] };

async function open(path: string, token?: string) {
  const response = await send({ path, headers, ...(token !== undefined && { token }) });
  expect(response.status, response.webSocket === null ? await response.text() : "").toBe(101);
  const socket = response.webSocket as WebSocket;
  const frames: Record<string, unknown>[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  socket.addEventListener("message", ({ data }) => void frames.push(JSON.parse(data as string)));
  socket.addEventListener("close", ({ code }) => void resolve(code));
  socket.accept();
  const ask = async (frame: object) => {
    socket.send(JSON.stringify({ ...frame, ref: frames.length }));
    const ref = frames.length;
    await expect.poll(() => frames.find((answer) => answer["ref"] === ref)).toBeDefined();
    return frames.find((answer) => answer["ref"] === ref);
  };
  return { frames, closed, ask, close: () => socket.close(1000) };
}

it("lets nobody subscribe to a room that is not theirs, nor to all, and opens nothing for them", async () => {
  const token = await mint(ROOM);
  await refusedUntouched({ path: pathOf("room-8"), headers, token }, 403);
  await refusedUntouched({ path: "/api/v1/ephemeral/subscribe?queue=presence", headers, token }, 403);
  await refusedUntouched({ path: pathOf("room-7"), headers }, 401);
});

it("judges pushes and acks over the socket by the token that it was opened with", async () => {
  const socket = await open(pathOf("room-7"), await mint(ROOM));
  const messages = [{ payload: 1 }];
  expect(await socket.ask({ type: "push", partition: "room-7", messages })).toMatchObject({ type: "pushed" });
  for (const other of [{ partition: "room-8" }, {}, { queue: "orders", partition: "room-7" }]) {
    expect(await socket.ask({ type: "push", ...other, messages })).toMatchObject({ type: "error", code: "forbidden" });
  }
  await expect.poll(() => socket.frames.filter(({ type }) => type === "messages")).toHaveLength(1);
  const [message] = socket.frames.flatMap(({ messages: sent }) => (sent ?? []) as { id: string }[]);
  const { batch } = socket.frames.find(({ type }) => type === "messages") ?? {};
  for (const acked of [{ acks: [{ id: message?.id }] }, { batch }, { batch: 1 }]) {
    expect(await socket.ask({ type: "ack", ...acked })).toMatchObject({ type: "error", code: "forbidden" });
  }
  socket.close();
});

it("takes a ticket in the URL, once", async () => {
  const sold = await send({ method: "POST", path: "/api/v1/tickets", token: await mint(ROOM) });
  const { ticket } = await sold.json<{ ticket: string }>();
  const socket = await open(pathOf("room-7", `&ticket=${ticket}`));
  expect((await send({ path: pathOf("room-7", `&ticket=${ticket}`), headers })).status).toBe(401);
  expect(await socket.ask({ type: "push", messages: [{ payload: 1 }] })).toMatchObject({ code: "forbidden" });
  socket.close();
});

it("closes with 4401 once the token has expired, when something comes", async () => {
  const socket = await open(pathOf("room-9"), await sign({ ...ROOM_9, exp: nowSeconds() + 5 }));
  passTime(36_000);
  const token = await mint({ admin: true });
  const body = { queue: "presence", partition: "room-9", messages: [{ payload: 2 }] };
  expect((await send({ method: "POST", path: "/api/v1/ephemeral/push", token, body })).status).toBe(201);
  expect(await socket.closed).toBe(4401);
  expect(socket.frames.filter(({ type }) => type === "messages")).toEqual([]);
  vi.restoreAllMocks();
});

it("closes with 4401 for a frame that comes too late", async () => {
  const socket = await open(pathOf("room-9"), await sign({ ...ROOM_9, exp: nowSeconds() + 5 }));
  passTime(36_000);
  void socket.ask({ type: "push", partition: "room-9", messages: [{ payload: "too late" }] }).catch(() => {});
  expect(await socket.closed).toBe(4401);
  vi.restoreAllMocks();
  const popped = await send({
    path: "/api/v1/ephemeral/pop?queue=presence&partition=room-9&batch=9",
    token: await mint({ admin: true }),
  });
  expect(await popped.text()).not.toContain("too late");
});
