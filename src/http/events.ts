import type { Bearer } from "../auth/verifier.ts";
import type { Broker } from "../broker.ts";
import { CALLS_PER_EVENT } from "../config.ts";
import { JsonScanner } from "../contract/json-scanner.ts";
import { MAX_WAIT_MS } from "../contract/limits.ts";
import type { Ack, PopRequest } from "../engine/engine.ts";
import { unpack, type PopAnswer } from "../objects/protocol.ts";
import { HEARTBEAT_MS } from "./pop.ts";

type Asked = Pick<PopRequest, "queue" | "partition" | "group"> & { prefetch: number };

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-store" };
/** Ends with how soon an `EventSource` should come back, in ms. */
const HELLO = "retry: 1000\n\n";
/** A comment, which the client does not see: a proxy keeps the connection, and a client that has gone is noticed. */
const HEARTBEAT = ":\n\n";

/**
 * Messages as server-sent events, one each: `data` is `{"id","partition","attempts","payload"}`. They are auto-acked: a
 * message counts as consumed once it was written, and one that could not be goes back with its attempts unchanged. Events
 * have no `id`, and a `Last-Event-ID` means nothing here: where a client goes on, its group knows.
 */
export async function answerEvents(
  broker: Broker,
  asked: Asked,
  { expiresAt }: Bearer,
  signal: AbortSignal,
  ctx: ExecutionContext,
): Promise<Response> {
  const events = new Events(broker, asked, expiresAt ?? Infinity);
  // What is refused is refused with a status.
  const first = await events.pop(0);
  const { readable, writable } = new IdentityTransformStream();
  const leave = () => ctx.waitUntil(events.leave());
  signal.addEventListener("abort", leave);
  ctx.waitUntil(events.write(writable.getWriter(), first).finally(() => signal.removeEventListener("abort", leave)));
  return new Response(readable, { headers: HEADERS });
}

/** One stream of events: pops, each parked until there is something, and their acks. */
class Events {
  readonly #broker: Broker;
  readonly #asked: Asked;
  readonly #endsAt: number;
  #calls = 0;
  #left = false;
  #parked: PopRequest | null = null;

  constructor(broker: Broker, asked: Asked, endsAt: number) {
    this.#broker = broker;
    this.#asked = asked;
    this.#endsAt = endsAt;
  }

  /** An event of the platform may make only so many calls: after them the client has to come back. */
  get #isOver(): boolean {
    return this.#left || Date.now() >= this.#endsAt || this.#calls >= CALLS_PER_EVENT[this.#broker.config.plan];
  }

  async pop(waitMs: number): Promise<PopAnswer> {
    this.#calls++;
    const { queue, partition, group, prefetch } = this.#asked;
    const waiterId = waitMs === 0 ? "" : crypto.randomUUID();
    const request = { queue, partition, group, batch: prefetch, autoAck: false, waitMs, waiterId };
    this.#parked = waitMs === 0 ? null : request;
    try {
      return await this.#broker.pop(request);
    } finally {
      this.#parked = null;
    }
  }

  /** The client has gone. */
  async leave(): Promise<void> {
    this.#left = true;
    if (this.#parked !== null) await this.#broker.cancel(this.#parked).catch(ignored);
  }

  async write(writer: WritableStreamDefaultWriter<Uint8Array>, first: PopAnswer): Promise<void> {
    try {
      await writer.write(encoder.encode(HELLO));
      for (let answer = first; ; answer = await this.#next(writer)) {
        await this.#writeOne(writer, answer);
        if (this.#isOver) break;
      }
      await writer.close();
    } catch {
      // The connection has gone, or the broker cannot be asked any more: the client comes back.
      await this.leave();
      await writer.abort().catch(ignored);
    }
  }

  /** The next messages. While there are none a comment goes out now and then. */
  async #next(writer: WritableStreamDefaultWriter<Uint8Array>): Promise<PopAnswer> {
    const popped = this.pop(Math.min(MAX_WAIT_MS, this.#endsAt - Date.now()));
    // Its answer is not left alone with a connection that has gone.
    const given = popped.then((answer) => () => answer);
    try {
      for (;;) {
        const answer = await Promise.race([given, scheduler.wait(HEARTBEAT_MS)]);
        if (answer !== undefined) return answer();
        await writer.write(encoder.encode(HEARTBEAT));
      }
    } catch (error) {
      await this.leave();
      await popped.then((answer) => this.#release(answer), ignored);
      throw error;
    }
  }

  async #writeOne(writer: WritableStreamDefaultWriter<Uint8Array>, answer: PopAnswer): Promise<void> {
    if (answer.count === 0) return;
    try {
      if (this.#left) throw new Error("the client has gone");
      const items = itemsOf(unpack(answer.json));
      await writer.write(encoder.encode(items.map(eventOf).join("")));
      await this.#ack(items.map(idOf));
    } catch (error) {
      await this.#release(answer);
      throw error;
    }
  }

  /** If it fails the messages come again: at least once is the best that can be had then. */
  async #ack(ids: readonly string[]): Promise<void> {
    this.#calls++;
    const { queue, group } = this.#asked;
    const acks = ids.map((id): Ack => ({ id, status: "completed" }));
    await this.#broker.ack(queue, group, acks).catch(ignored);
  }

  async #release(answer: PopAnswer): Promise<void> {
    const { queue, partition, group } = this.#asked;
    const request = { queue, partition, group, batch: 0, autoAck: false, waitMs: 0, waiterId: "" };
    if (answer.count > 0) await this.#broker.release(request, answer).catch(ignored);
  }
}

const encoder = new TextEncoder();

/** The messages of an answer, each as the text that it is. */
function itemsOf(json: string): string[] {
  const items: string[] = [];
  const scanner = new JsonScanner(`[${json}]`);
  for (let more = scanner.firstElement(); more; more = scanner.nextElement()) items.push(scanner.value());
  return items;
}

/** Line breaks of a payload stand between its values, where they mean nothing: the client puts them back. */
function eventOf(item: string): string {
  return `data: ${item.replaceAll(/\r\n|\r|\n/g, "\ndata: ")}\n\n`;
}

/** A message begins with its id, and within that every quotation mark is escaped. */
function idOf(item: string): string {
  const head = '{"id":';
  return JSON.parse(item.slice(head.length, item.indexOf('","partition":') + 1)) as string;
}

function ignored(): void {}
