import type { Claims } from "../auth/token.ts";
import { Consumer, type ConsumeOptions } from "./consume.ts";
import { DurableQueue } from "./durable.ts";
import { Ephemeral, jsonOf } from "./ephemeral.ts";
import { Gathers } from "./gather.ts";
import { idsOf, randomId } from "./ids.ts";
import { Inboxes } from "./inbox.ts";
import { respond, type RequestContext, type Request, type Responder, type RespondOptions } from "./respond.ts";
import { subscribe, type SocketClass, type SubscribedMessage, type SubscribeOptions } from "./subscribe.ts";
import { Transport, type TokenSource } from "./transport.ts";
import type { Abortable, Message } from "./types.ts";

export interface WaggleOptions {
  /** A bearer token, or a function that answers one, which is called before every request. */
  token?: TokenSource;
  /** In the place of the global `fetch`. */
  fetch?: typeof fetch;
  /** In the place of the global `WebSocket`, which Node has from version 22 on. */
  webSocket?: SocketClass;
  /** How the names of this client's inboxes begin, which its token must allow it to pop; `inbox-` when absent. */
  inboxPrefix?: string;
}

export interface RequestOptions extends Abortable {
  /** How long to wait for the reply, in ms; 30,000 when absent. */
  timeout?: number;
  /** The partition that responders read, where they do not read all. */
  partition?: string;
}

const REPLY_MS = 30_000;
/** How many pushes of requests to one queue are out at the same time; beyond, they go together. */
const MAX_CALLS = 4;

/**
 * A client of a Waggle broker, for browsers, Node 20 and later, Deno and Workers.
 *
 * ```ts
 * import { Waggle } from "waggle-mq";
 *
 * const waggle = new Waggle("https://waggle.example.workers.dev", { token: () => sessionToken() });
 * await waggle.ephemeral.push("presence", [{ user: "ada" }], { partition: "room-7" });
 * ```
 *
 * A call that fails for a reason that passes (the network, a restart of the broker) is made again, with backoff and jitter,
 * for up to 30 s, where a repeat is harmless: a push is, since it carries a key, and so are pops, acks and everything
 * that only looks. What is left is thrown as a `WaggleError`.
 */
export class Waggle {
  /** In-memory queues. */
  readonly ephemeral: Ephemeral;
  readonly #transport: Transport;
  readonly #inboxes: Inboxes;
  readonly #socketClass: SocketClass | undefined;
  /** Requests on their way, by the partition that they go to. */
  readonly #requests = new Map<string, Gathers>();

  constructor(url: string | URL, { token, fetch: fetcher, webSocket, inboxPrefix = "inbox-" }: WaggleOptions = {}) {
    this.#socketClass = webSocket;
    this.#transport = new Transport(url, token, fetcher);
    this.ephemeral = new Ephemeral(this.#transport, idsOf(randomId()));
    this.#inboxes = new Inboxes(this.ephemeral, inboxPrefix);
  }

  /** A durable queue, by its name. */
  queues(name: string): DurableQueue {
    return new DurableQueue(this.#transport, name);
  }

  /**
   * Sends a request and resolves with the reply of one responder. Rejects at once with `no_responders` when nobody listens
   * to the queue, with `responder_failed` when the responder's handler threw, and with `no_reply` when the time is
   * over. A reply is delivered at most once: one that is lost on its way is a `no_reply`.
   *
   * ```ts
   * const { squared } = await waggle.request<{ squared: number }>("squares", { n: 7 }, { timeout: 5000 });
   * ```
   */
  async request<R = unknown>(
    queue: string,
    payload: unknown,
    { timeout = REPLY_MS, partition, signal }: RequestOptions = {},
  ): Promise<R> {
    const text = jsonOf(payload);
    const send = (replyTo: string, correlationId: string) => {
      const head: Omit<Request, "payload"> = { replyTo, correlationId, timeoutMs: timeout };
      return this.#requestsTo(partition).add(queue, `${JSON.stringify(head).slice(0, -1)},"payload":${text}}`);
    };
    return (await this.#inboxes.expect(send, { timeout, signal })) as R;
  }

  #requestsTo(partition: string | undefined): Gathers {
    const key = partition ?? "";
    let requests = this.#requests.get(key);
    if (requests === undefined) {
      const where = partition === undefined ? {} : { partition };
      const push = (queue: string, texts: string[]) =>
        this.ephemeral.pushTexts(queue, texts, { ...where, requireResponders: true });
      requests = new Gathers(push, MAX_CALLS);
      this.#requests.set(key, requests);
    }
    return requests;
  }

  /**
   * Answers the requests of a queue until `signal` is aborted: what the handler returns is the reply, and what it throws
   * is what the requester gets as `responder_failed`. Responders share the requests, by `group` if they name one. A
   * request is acked once its reply is out, so one whose responder dies comes to another.
   *
   * ```ts
   * await waggle.respond("squares", ({ n }: { n: number }) => ({ squared: n ** 2 }), { concurrency: 10, signal });
   * ```
   */
  respond<T = unknown>(
    queue: string,
    handler: (payload: T, context: RequestContext) => unknown,
    options: RespondOptions = {},
  ): Promise<void> {
    return respond(this.ephemeral, queue, handler as Responder, options);
  }

  /**
   * Hands the messages of a queue to a handler until `signal` is aborted. A message is acked when its handler is done, and
   * handed back to be delivered again when it throws. Restarts of the broker and failures of the network are waited out.
   * Resolves once what was in hand has been handled and acked; rejects when the broker refuses for good.
   *
   * ```ts
   * await waggle.consume("mails", { group: "senders", signal }, async ({ payload }) => send(payload));
   * ```
   */
  consume<T = unknown>(
    queue: string,
    options: ConsumeOptions,
    handler: (message: Message<T>) => unknown,
  ): Promise<void> {
    return new Consumer(this.ephemeral, queue, options, handler).run();
  }

  /**
   * The messages of a queue as they come, over a WebSocket: what costs nothing while nothing happens. A message is acked when
   * the loop asks for the next one, unless it has called `ack()` or `retry()` before; one that the loop is left with, by
   * `break` or by a throw, goes back to the queue. The loop ends when `signal` is aborted. A socket that is lost is opened
   * again, and what was unsettled is delivered again; what does not pass is thrown.
   *
   * ```ts
   * for await (const { payload } of waggle.subscribe("presence", { partition: "room-7", group: "ui-1", signal })) {
   *   show(payload);
   * }
   * ```
   */
  subscribe<T = unknown>(
    queue: string,
    options: SubscribeOptions = {},
  ): AsyncGenerator<SubscribedMessage<T>, void, undefined> {
    const socketClass = this.#socketClass ?? (globalThis as { WebSocket?: SocketClass }).WebSocket;
    return subscribe<T>(this.#transport, socketClass, queue, options);
  }

  /**
   * Mints a token, offline: for a server that holds the broker's keys and hands out tokens to its users. `keys` is the text
   * of the secret `WAGGLE_KEYS`; the first of them signs.
   *
   * ```ts
   * const claims = { ephemeral: [{ queue: "presence", partition: "room-7", verbs: ["push", "pop", "ack"] }] };
   * const token = await waggle.token(process.env.WAGGLE_KEYS, claims, 3600);
   * ```
   */
  async token(keys: string, claims: Claims, expiresInSeconds: number): Promise<string> {
    // In a piece of its own: a browser, which must not have the keys, never loads it.
    const { mintToken, parseKeys } = await import("../auth/token.ts");
    return mintToken(parseKeys(keys), claims, expiresInSeconds);
  }

  /** Ends the long poll for replies, and with it every request that still waits. Consumers end by their signals. */
  close(): void {
    this.#inboxes.end();
  }
}
