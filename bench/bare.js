import { DurableObject } from "cloudflare:workers";

/**
 * What the platform itself costs: a body through one object and back, an answer that another request lets go, and a body
 * that goes out on a WebSocket. Every request takes the way of the broker's, from the Worker to an object that is found by
 * name, by RPC.
 */
export class Bare extends DurableObject {
  #parked = [];

  echo(text) {
    return text;
  }

  park() {
    return new Promise((resolve) => this.#parked.push(resolve));
  }

  wake(text) {
    this.#parked.shift()?.(text);
  }

  /** Takes a WebSocket, which only a `fetch` can bring, and hibernates as the broker's owners do. */
  fetch() {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  tell(text) {
    for (const socket of this.ctx.getWebSockets()) socket.send(text);
  }

  /** A frame that brings a `ref` is answered, as the broker answers an ack that does. */
  webSocketMessage(socket, text) {
    if (text.startsWith('{"ref"')) socket.send(text);
  }

  webSocketClose(socket) {
    socket.close();
  }
}

/** What it costs at least to keep a message: one row for each request. */
export class Table extends DurableObject {
  #sql = this.ctx.storage.sql;

  constructor(ctx, env) {
    super(ctx, env);
    this.#sql.exec("CREATE TABLE IF NOT EXISTS bodies (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
  }

  insert(body) {
    this.#sql.exec("INSERT INTO bodies (body) VALUES (?)", body);
  }

  clear() {
    this.#sql.exec("DELETE FROM bodies");
  }
}

const HEADERS = { "content-type": "application/json" };

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const table = env.TABLE.getByName("bare");
    if (pathname === "/insert" || pathname === "/clear") {
      await (pathname === "/insert" ? table.insert(await request.text()) : table.clear());
      return new Response("{}", { status: 201, headers: HEADERS });
    }
    const object = env.BARE.getByName("bare");
    if (pathname === "/echo") return new Response(await object.echo(await request.text()), { headers: HEADERS });
    if (pathname === "/park") return new Response(await object.park(), { headers: HEADERS });
    if (pathname === "/socket") return object.fetch(request);
    if (pathname === "/wake" || pathname === "/tell") {
      const text = await request.text();
      await (pathname === "/wake" ? object.wake(text) : object.tell(text));
      return new Response("{}", { status: 201, headers: HEADERS });
    }
    return new Response("{}", { headers: HEADERS });
  },
};
