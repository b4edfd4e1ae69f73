import { pushNeed } from "../auth/need.ts";
import { isRefusal, refuse, WaggleError, type Refusal } from "../contract/errors.ts";
import { MAX_BODY_BYTES, MAX_FRAMES_UNDER_WAY } from "../contract/limits.ts";
import { CLOSE, frame, readFrame, type ClientFrame } from "../contract/socket.ts";
import type { Batch, Handed } from "../engine/batch.ts";
import type { Engine, PushOptions } from "../engine/engine.ts";
import type { SubscriptionEnd } from "../engine/subscription.ts";
import { forbidden } from "./forbidden.ts";
import type { Turn } from "./home.ts";
import { InHand } from "./in-hand.ts";
import type { Peers } from "./peers.ts";
import type { Subscribe } from "./protocol.ts";
import { close, end, errorFrame, messagesFrame, send, subscribedFrame } from "./socket-frames.ts";

const ENDS: Record<SubscriptionEnd, [code: number, reason: string]> = {
  expired: [CLOSE.tokenExpired, "the token has expired"],
  deleted: [CLOSE.queueDeleted, "the queue was deleted"],
  slow: [CLOSE.slowConsumer, "too much was sent of which nothing has been acked"],
};

/** The socket of a subscriber, as long as its owner is in memory. */
interface Session extends Subscribe {
  socket: WebSocket;
  /** The frames of a client are carried out one after the other. */
  last: Promise<void>;
  underWay: number;
}

/** What sockets need of the owner around them. */
export interface SocketsHost {
  push(
    queue: string,
    partition: string,
    payloads: string[],
    isAscii: boolean,
    options: PushOptions,
  ): Promise<number | Refusal>;
}

/**
 * The WebSockets of an owner's subscribers. The runtime keeps them while the owner sleeps, each with what its client has
 * asked for; that is all there is to keep, since nobody sleeps while messages are out. Whatever wakes the owner, it takes
 * its subscribers up again before anything else.
 */
export class Sockets {
  readonly #state: DurableObjectState;
  readonly #engine: Engine;
  readonly #turn: Turn;
  readonly #peers: Peers;
  readonly #host: SocketsHost;
  readonly #inHand: InHand;
  readonly #bySocket = new Map<WebSocket, Session>();
  readonly #byId = new Map<string, Session>();

  constructor(state: DurableObjectState, engine: Engine, turn: Turn, peers: Peers, host: SocketsHost) {
    this.#state = state;
    this.#engine = engine;
    this.#turn = turn;
    this.#peers = peers;
    this.#host = host;
    this.#inHand = new InHand(turn, peers);
    for (const socket of state.getWebSockets()) this.#takeUp(socket);
  }

  /** Lets a client in. The caller has made sure that its queue and group are known everywhere. */
  accept(subscribe: Subscribe): Response | Refusal {
    const { 0: client, 1: server } = new WebSocketPair();
    // Answered without waking an owner that sleeps.
    this.#state.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    this.#state.acceptWebSocket(server);
    server.serializeAttachment(subscribe);
    server.send(subscribedFrame(subscribe));
    const refusal = this.#turn((engine) => this.#begin(engine, server, subscribe));
    if (refusal === null) return new Response(null, { status: 101, webSocket: client });
    server.close(CLOSE.tryAgainLater, "refused");
    return refusal;
  }

  #begin(engine: Engine, socket: WebSocket, subscribe: Subscribe): Refusal | null {
    const session: Session = { ...subscribe, socket, last: Promise.resolve(), underWay: 0 };
    this.#bySocket.set(socket, session);
    this.#byId.set(session.id, session);
    const { id, queue, partition, group, prefetch, bearer } = subscribe;
    const expiresAt = bearer.expiresAt ?? Infinity;
    const refusal = engine.subscribe({ id, queue, partition, group, prefetch, expiresAt });
    if (refusal !== null) this.#forget(session);
    return refusal;
  }

  /** A socket that has outlived the owner's last life. */
  #takeUp(socket: WebSocket): void {
    const subscribe = socket.deserializeAttachment() as Subscribe | null;
    if (subscribe === null || socket.readyState !== WebSocket.OPEN) return;
    const { queue, partition, bearer } = subscribe;
    if ((bearer.expiresAt ?? Infinity) <= Date.now()) {
      end(socket, ...ENDS.expired);
      return;
    }
    const { placement, self } = this.#peers;
    const owner = partition === null ? placement.home(queue) : placement.owner(queue, partition);
    const refusal = owner === self ? this.#begin(this.#engine, socket, subscribe) : true;
    if (refusal !== null) end(socket, CLOSE.goingAway, "subscribe again");
  }

  #forget(session: Session): void {
    this.#bySocket.delete(session.socket);
    this.#byId.delete(session.id);
  }

  /** Sends messages. Called in the middle of the engine's step. */
  deliver(id: string, number: number, batch: Batch): void {
    const session = this.#byId.get(id);
    if (session === undefined) return;
    try {
      session.socket.send(messagesFrame(number, batch.items));
    } catch {
      // The socket is closing: its end has not been told yet.
      void Promise.resolve().then(() => this.#lost(session, batch.handed));
    }
  }

  /** The broker has ended a subscription, perhaps in the middle of the engine's step. */
  ended(id: string, why: SubscriptionEnd, out: Handed[]): void {
    const session = this.#byId.get(id);
    if (session === undefined) return;
    this.#forget(session);
    end(session.socket, ...ENDS[why]);
    void Promise.resolve().then(() => this.#inHand.giveBack(session, out, true));
  }

  /** The client has gone, or the connection to it. A close of the client's is answered: it waits for that. */
  async closed(socket: WebSocket, code?: number): Promise<void> {
    if (code !== undefined) close(socket, code >= 3000 ? code : 1000, "");
    const session = this.#bySocket.get(socket);
    if (session !== undefined) await this.#lost(session, []);
  }

  async #lost(session: Session, unwritten: readonly Handed[]): Promise<void> {
    if (this.#byId.get(session.id) !== session) return;
    this.#forget(session);
    const out = this.#turn((engine) => engine.subscriptions.end(session.id));
    await this.#inHand.giveBack(session, unwritten, false);
    await this.#inHand.giveBack(session, out, true);
  }

  /** A frame has come. Settles once it has been carried out. */
  async received(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    const session = this.#bySocket.get(socket);
    if (session === undefined) return;
    if ((session.bearer.expiresAt ?? Infinity) <= Date.now()) {
      // The engine ends what has expired before it does anything else.
      this.#turn(() => {});
      return;
    }
    let read: ClientFrame;
    try {
      if (typeof data !== "string") throw new WaggleError("ephemeral_bad_request", "frames are text");
      if (data.length > MAX_BODY_BYTES) throw new WaggleError("payload_too_large", "the frame is too large");
      read = readFrame(data, session.queue);
    } catch (error) {
      if (!(error instanceof WaggleError)) throw error;
      await this.#refuse(session, CLOSE.badFrame, error.message);
      return;
    }
    if (session.underWay >= MAX_FRAMES_UNDER_WAY) {
      await this.#refuse(session, CLOSE.tryAgainLater, "too many frames wait for an answer");
      return;
    }
    session.last = session.underWay++ === 0 ? this.#carryOut(session, read) : this.#carryOutLater(session, read);
    await session.last;
  }

  async #carryOutLater(session: Session, read: ClientFrame): Promise<void> {
    await session.last;
    await this.#carryOut(session, read);
  }

  async #refuse(session: Session, code: number, reason: string): Promise<void> {
    end(session.socket, code, reason);
    await this.#lost(session, []);
  }

  async #carryOut(session: Session, read: ClientFrame): Promise<void> {
    const { ref } = read;
    try {
      const answer = await this.#answer(session, read);
      if (isRefusal(answer)) send(session.socket, errorFrame(ref, answer));
      else if (ref !== null) send(session.socket, answer);
    } catch (error) {
      const code = error instanceof WaggleError ? error.code : "ephemeral_forward_failed";
      send(session.socket, errorFrame(ref, refuse(code, error instanceof Error ? error.message : String(error))));
    } finally {
      session.underWay--;
    }
  }

  #answer(session: Session, read: ClientFrame): Promise<string | Refusal> {
    switch (read.type) {
      case "ack":
        return this.#inHand.ack(session, read);
      case "ack-batch":
        return this.#inHand.ackBatch(session, read);
      case "push":
        return this.#push(session, read);
    }
  }

  async #push(session: Session, { ref, push }: ClientFrame & { type: "push" }): Promise<string | Refusal> {
    const { queue, partition, payloads, isAscii, options } = push;
    const pushed =
      forbidden(session, () => pushNeed(push)) ?? (await this.#host.push(queue, partition, payloads, isAscii, options));
    return isRefusal(pushed) ? pushed : frame("pushed", ref, { pushed: String(pushed) });
  }
}
