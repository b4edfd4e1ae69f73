import { Waggle } from "waggle-mq";
import { listen, type Transport } from "./listen.ts";
import { Publisher } from "./publisher.ts";
import { Roster, type Line } from "./roster.ts";
import { isState, type State } from "./state.ts";

/** Each room is a partition of it. Declare it with a ttl of its own, see the README beside. */
const QUEUE = "presence";
/** How often a window says that it is still here. */
const HEARTBEAT_MS = 2000;
/** Whoever is not heard of for so long has gone without a goodbye. */
export const TTL_MS = 6000;
/** A state goes out at most so often: a pointer moves faster than eyes follow. */
const PUBLISH_MS = 50;
const TYPING_MS = 2500;
const LOOK_MS = 250;

export interface RoomOptions {
  broker: string;
  token: string | undefined;
  room: string;
  name: string;
  transport: Transport | null;
  /** Called whenever something may have changed. */
  changed(present: State[]): void;
  said(line: Line): void;
  tries(transport: Transport): void;
  /** Called when the room cannot be read any more. */
  failed(error: unknown): void;
}

/** A window in a room: says what it does, and hears what the others do. Each window is a group of its own. */
export class Room {
  readonly id = crypto.randomUUID();
  readonly #options: RoomOptions;
  readonly #waggle: Waggle;
  readonly #roster = new Roster(TTL_MS);
  readonly #publisher = new Publisher(() => this.#push(), PUBLISH_MS);
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  #state: Omit<State, "id" | "seq">;
  #seq = 0;
  #typing: ReturnType<typeof setTimeout> | undefined;
  #listening = new AbortController();

  constructor(options: RoomOptions) {
    const { broker, token, name } = options;
    this.#options = options;
    this.#waggle = new Waggle(broker, token === undefined ? {} : { token });
    this.#state = { name, isTyping: false, cursor: null, said: null, isNew: true };
  }

  enter(): void {
    this.#listen();
    this.#publisher.publish();
    this.#timers.push(
      setInterval(() => this.#publisher.publish(), HEARTBEAT_MS),
      setInterval(() => this.#look(), LOOK_MS),
    );
  }

  rename(name: string): void {
    this.#change({ name });
  }

  moveTo(cursor: State["cursor"]): void {
    this.#change({ cursor });
  }

  /** A key was pressed; after a while without one nobody is typing. */
  type(): void {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#change({ isTyping: false }), TYPING_MS);
    if (!this.#state.isTyping) this.#change({ isTyping: true });
  }

  say(text: string): void {
    clearTimeout(this.#typing);
    this.#change({ isTyping: false, said: { line: (this.#state.said?.line ?? 0) + 1, text } });
  }

  /** The network is back: what was connected before may look alive and be dead. */
  reconnect(): void {
    this.#listening.abort();
    this.#listen();
    this.#publisher.publish();
  }

  /** Says goodbye, also while the page is closing. */
  leave(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#listening.abort();
    const { broker, token, room } = this.#options;
    const payload: State = { ...this.#next(), hasLeft: true };
    void fetch(`${broker}/api/v1/ephemeral/push`, {
      method: "POST",
      // Outlives the page, which the client's calls do not.
      keepalive: true,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      body: JSON.stringify({ queue: QUEUE, partition: room, messages: [{ payload }] }),
    }).catch(() => {});
  }

  #listen(): void {
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    const { room, transport, tries, failed } = this.#options;
    const heard = (payload: unknown) => this.#hear(payload);
    const listening = { queue: QUEUE, partition: room, group: `ui-${this.id}`, transport, signal, heard, tries };
    listen(this.#waggle, listening).catch((error: unknown) => {
      if (!signal.aborted) failed(error);
    });
  }

  #hear(payload: unknown): void {
    if (!isState(payload)) return;
    const line = this.#roster.hear(payload, Date.now());
    if (line !== null) this.#options.said(line);
    // Whoever comes in sees at once who is here.
    if (payload.isNew === true && payload.id !== this.id) this.#publisher.publish();
    this.#look();
  }

  #look(): void {
    this.#options.changed(this.#roster.present(Date.now()));
  }

  #change(change: Partial<State>): void {
    this.#state = { ...this.#state, ...change };
    this.#publisher.publish();
  }

  async #push(): Promise<void> {
    const state = this.#next();
    await this.#waggle.ephemeral.push(QUEUE, [state], { partition: this.#options.room });
    delete this.#state.isNew;
  }

  #next(): State {
    return { ...this.#state, id: this.id, seq: ++this.#seq };
  }
}
