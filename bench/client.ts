import { connect, type Socket } from "node:net";

/** How long one answer may take before the run is given up. While `workerd` drains a queue it may read from no socket. */
const TIMEOUT_MS = 180_000;
const HEAD_END = Buffer.from("\r\n\r\n");

export interface Answer {
  status: number;
  body: Buffer;
}

/** A request as the bytes that go over the wire, made once and sent many times. */
export function get(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: bench\r\n\r\n`);
}

export function post(path: string, body: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/**
 * One keep-alive connection with one request under way. It knows just as much of HTTP as `workerd` answers with: a client
 * that does more per request than the server would measure itself.
 */
export class Connection {
  readonly #port: number;
  #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #pending: PromiseWithResolvers<Answer> | null = null;
  /** Bytes of the answer under way, once its head is there. */
  #expected = -1;
  #bodyAt = 0;

  private constructor(port: number, socket: Socket) {
    this.#port = port;
    this.#socket = socket;
    this.#listen();
  }

  static async open(port: number): Promise<Connection> {
    return new Connection(port, await dial(port));
  }

  /** Sends a request and answers once the whole of the response is there. */
  async send(request: Buffer): Promise<Answer> {
    if (this.#pending !== null) throw new Error("a request is under way on this connection");
    // workerd closes a connection on which nothing has come for 5 s.
    if (this.#socket.destroyed) {
      this.#socket = await dial(this.#port);
      this.#listen();
    }
    this.#pending = Promise.withResolvers();
    this.#socket.write(request);
    return this.#pending.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #listen(): void {
    const socket = this.#socket;
    socket.setNoDelay(true);
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", (error) => this.#pending?.reject(error));
    socket.on("close", () => this.#pending?.reject(new Error("the connection was closed")));
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    if (this.#expected < 0 && !this.#readHead()) return;
    if (this.#received.length < this.#expected) return;
    const answer = {
      status: Number(this.#received.toString("latin1", 9, 12)),
      body: this.#received.subarray(this.#bodyAt, this.#expected),
    };
    this.#received = this.#received.subarray(this.#expected);
    this.#expected = -1;
    const pending = this.#pending;
    this.#pending = null;
    pending?.resolve(answer);
  }

  #readHead(): boolean {
    const end = this.#received.indexOf(HEAD_END);
    if (end < 0) return false;
    const length = /content-length: (\d+)/i.exec(this.#received.toString("latin1", 0, end))?.[1];
    if (length === undefined) {
      this.#socket.destroy(new Error("an answer without content-length"));
      return false;
    }
    this.#bodyAt = end + HEAD_END.length;
    this.#expected = this.#bodyAt + Number(length);
    return true;
  }
}

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return socket;
}

/** Several connections to one server. */
export class Client {
  readonly connections: Connection[];

  private constructor(connections: Connection[]) {
    this.connections = connections;
  }

  static async open(port: number, connections: number): Promise<Client> {
    return new Client(await Promise.all(Array.from({ length: connections }, () => Connection.open(port))));
  }

  /**
   * Sends `count` requests, each connection its next one as soon as its last is answered, and answers how many there were
   * per second. Anything but the expected status ends the run: a refusal is no throughput.
   */
  async rate(
    count: number,
    request: (index: number) => Buffer,
    expected: number,
    seen?: (body: Buffer) => void,
  ): Promise<number> {
    let sent = 0;
    const started = performance.now();
    await Promise.all(
      this.connections.map(async (connection) => {
        while (sent < count) {
          const { status, body } = await connection.send(request(sent++));
          if (status !== expected) throw new Error(`${status} instead of ${expected}: ${body.toString()}`);
          seen?.(body);
        }
      }),
    );
    return (count * 1000) / (performance.now() - started);
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }
}
