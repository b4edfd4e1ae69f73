import { ackNeed } from "../auth/ack-need.ts";
import { lacking } from "../auth/judge.ts";
import { pushNeed, type Need } from "../auth/need.ts";
import { isRefusal, refuse, WaggleError, type Refusal } from "../contract/errors.ts";
import { MAX_BODY_BYTES, MAX_FRAMES_UNDER_WAY } from "../contract/limits.ts";
import { ackStatus } from "../contract/requests.ts";
import { CLOSE, frame, readFrame, type ClientFrame } from "../contract/socket.ts";
import type { Batch, Handed } from "../engine/batch.ts";
import type { Ack, Engine, Outcome, PushOptions } from "../engine/engine.ts";
import { idsOf, partitionsIn } from "../engine/ids.ts";
import type { SubscriptionEnd } from "../engine/subscription.ts";
import { routeAcks } from "./ack-routing.ts";
import type { Turn } from "./home.ts";
import type { Peers } from "./peers.ts";
import { ackColumns, type Subscribe } from "./protocol.ts";
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
  readonly #bySocket = new Map<WebSocket, Session>();
  readonly #byId = new Map<string, Session>();

  constructor(state: DurableObjectState, engine: Engine, turn: Turn, peers: Peers, host: SocketsHost) {
    this.#state = state;
    this.#engine = engine;
    this.#turn = turn;
    this.#peers = peers;
    this.#host = host;
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
    void Promise.resolve().then(() => this.#giveBack(session, out, true));
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
    await this.#giveBack(session, unwritten, false);
    await this.#giveBack(session, out, true);
  }

  async #giveBack({ queue, group }: Session, out: readonly Handed[], reached: boolean): Promise<void> {
    for (const [owner, part] of this.#byOwner(queue, out)) {
      if (owner === this.#peers.self) this.#turn((engine) => engine.release(queue, group, part, reached));
      // If it cannot be asked, leases end by themselves.
      else
        await this.#peers
          .owner(owner)
          .release(queue, group, part, reached)
          .catch(() => {});
    }
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
        return this.#ack(session, read);
      case "ack-batch":
        return this.#ackBatch(session, read);
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

  async #ack(session: Session, { ref, acks: entries }: ClientFrame & { type: "ack" }): Promise<string | Refusal> {
    const { id, queue, group } = session;
    const acks = entries.map((entry): Ack => {
      return { id: entry.id, status: ackStatus(entry.status), attempts: entry.attempts ?? undefined };
    });
    const refusal = forbidden(session, () => ackNeed({ queue, group, acks }));
    if (refusal !== null) return refusal;
    const ids = idsOf(acks);
    const outcomes = partitionsIn(ids).every((partition) => this.#isHere(queue, partition))
      ? this.#turn((engine) => {
          engine.subscriptions.settle(id, acks, ids);
          const settled = engine.ack(queue, group, acks, ids);
          engine.subscriptions.goOn(id);
          return settled;
        })
      : await this.#settleAcross(session, acks);
    if (ref === null) return "";
    const results = acks.map((ack, index) => ({ id: ack.id, outcome: outcomes[index] ?? "unknown" }));
    return frame("acked", ref, { results: JSON.stringify(results) });
  }

  /** Settles what is still out of a batch, at whichever owners it came from. */
  async #ackBatch(session: Session, { ref, batch }: ClientFrame & { type: "ack-batch" }): Promise<string | Refusal> {
    const { id, queue, group } = session;
    const handed = this.#engine.subscriptions.inBatch(id, batch);
    const partitions = handed.map(({ partition }) => partition);
    const refusal = forbidden(session, () => ({ of: "ephemeral", verb: "ack", queue, partitions, group }));
    if (refusal !== null) return refusal;
    const acked = partitions.every((partition) => this.#isHere(queue, partition))
      ? this.#turn((engine) => {
          engine.subscriptions.settleBatch(id, batch);
          const completed = engine.complete(queue, group, handed);
          engine.subscriptions.goOn(id);
          return completed;
        })
      : await this.#completeAcross(session, batch, handed);
    return ref === null ? "" : frame("acked", ref, { acked: String(acked) });
  }

  /** A subscriber of any partition has messages of other owners, too. */
  async #completeAcross({ id, queue, group }: Session, batch: number, handed: readonly Handed[]): Promise<number> {
    this.#turn((engine) => engine.subscriptions.settleBatch(id, batch));
    const { self } = this.#peers;
    try {
      const completed = Array.from(this.#byOwner(queue, handed), ([owner, part]) =>
        owner === self
          ? this.#turn((engine) => engine.complete(queue, group, part))
          : this.#peers.owner(owner).complete(queue, group, part),
      );
      return (await Promise.all(completed)).reduce((sum, count) => sum + count, 0);
    } finally {
      this.#turn((engine) => engine.subscriptions.goOn(id));
    }
  }

  #byOwner(queue: string, handed: readonly Handed[]): Map<number, Handed[]> {
    return Map.groupBy(handed, ({ partition }) => this.#peers.placement.owner(queue, partition));
  }

  #isHere(queue: string, partition: string): boolean {
    return this.#peers.placement.owner(queue, partition) === this.#peers.self;
  }

  /** The same for acks as {@link #completeAcross}. */
  async #settleAcross({ id, queue, group }: Session, acks: readonly Ack[]): Promise<Outcome[]> {
    const { placement, self } = this.#peers;
    this.#turn((engine) => engine.subscriptions.settle(id, acks));
    try {
      return await routeAcks(
        acks,
        (partition) => placement.owner(queue, partition),
        (owner, part) =>
          owner === self
            ? this.#turn((engine) => engine.ack(queue, group, part))
            : this.#peers.owner(owner).ack(queue, group, ackColumns(part)),
      );
    } finally {
      this.#turn((engine) => engine.subscriptions.goOn(id));
    }
  }
}

/** What a frame's sender lacks for it, by the token that its socket was opened with. */
function forbidden({ bearer: { claims } }: Session, needOf: () => Need): Refusal | null {
  const problem = claims.admin === true ? null : lacking(claims, needOf());
  return problem === null ? null : refuse("forbidden", problem);
}
