import { createExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import worker from "../../src/index.ts";
import { call, env, list, read, refused, remove } from "./support.ts";

const MAX_BODY_BYTES = 16 * 1024 * 1024;
const ROUTES = ["push", "ack", "configure", "reset"];

/** A valid body of exactly that many bytes. */
function bodyOf(bytes: number): string {
  const body = '{"queue":"q","messages":[{"payload":1}],"acks":[]';
  return `${body}${" ".repeat(bytes - body.length - 1)}}`;
}

/** The same in chunks, without a declared length. */
function chunked(body: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(body);
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes.slice(at, at + 1_000_000));
      at += 1_000_000;
      if (at >= bytes.length) controller.close();
    },
  });
}

function send(route: string, body: string | ReadableStream<Uint8Array>): Promise<Response> {
  return call(`/api/v1/ephemeral/${route}`, { method: "POST", body });
}

it.each(ROUTES)("refuses a body of %s that is one byte too large, declared or counted", async (route) => {
  const body = bodyOf(MAX_BODY_BYTES + 1);
  await refused(send(route, body), 413, "payload_too_large");
  await refused(send(route, chunked(body)), 413, "payload_too_large");
  expect((await list()).count).toBe(0);
});

it("takes a body that is exactly as large as it may be", async () => {
  const body = bodyOf(MAX_BODY_BYTES);
  expect(await read(send("push", body), 201)).toEqual({ pushed: 1 });
  expect(await read(send("push", chunked(body)), 201)).toEqual({ pushed: 1 });
  expect(await remove("q")).toMatchObject({ deleted: true });
});

it("counts bytes, not characters", async () => {
  const text = "é".repeat(MAX_BODY_BYTES / 2);
  await refused(send("push", `{"queue":"q","messages":[{"payload":"${text}"}]}`), 413, "payload_too_large");
});

it("refuses by the declared length before anything is read", async () => {
  const body = new ReadableStream<Uint8Array>({
    pull() {
      throw new Error("this body must not be read");
    },
  });
  const headers = { "content-length": String(MAX_BODY_BYTES + 1) };
  const request = new Request("http://waggle/api/v1/ephemeral/push", { method: "POST", headers, body });
  await refused(worker.fetch(request, env, createExecutionContext()), 413, "payload_too_large");
});

it("stops reading an endless body", async () => {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1_000_000;
      controller.enqueue(new Uint8Array(1_000_000).fill(0x20));
    },
  });
  const request = new Request("http://waggle/api/v1/ephemeral/push", { method: "POST", body });
  await refused(worker.fetch(request, env, createExecutionContext()), 413, "payload_too_large");
  expect(sent).toBeLessThan(2 * MAX_BODY_BYTES);
});
