import { execFile } from "node:child_process";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Child } from "./children.ts";
import { freePort } from "./free-port.ts";

/** Starts a Redis that stores nothing, or answers null where none is installed. */
export async function startRedis(): Promise<{ port: number; stop(): Promise<void> } | null> {
  try {
    await promisify(execFile)("redis-server", ["--version"]);
  } catch {
    return null;
  }
  const port = await freePort();
  const address = ["--port", String(port), "--bind", "127.0.0.1"];
  const child = new Child("redis-server", [...address, "--save", "", "--appendonly", "no", "--dir", tmpdir()]);
  for (let tries = 0; tries < 100; tries++) {
    await sleep(50);
    try {
      (await Resp.open(port)).close();
      return { port, stop: () => child.end("SIGTERM") };
    } catch {
      // Not listening yet.
    }
  }
  await child.end("SIGKILL");
  throw new Error("redis-server did not come up");
}

/** Commands as the bytes that go over the wire. */
export function commands(...list: string[][]): Buffer {
  return Buffer.from(list.map(encode).join(""));
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;
}

/**
 * One connection that counts the lines of what comes back and parses nothing: replies of a known shape, and values without
 * line breaks, are complete when so many lines are there. It costs less than any client that one would use.
 */
export class Resp {
  readonly #socket: Socket;
  #lines = 0;
  #failed = false;
  #pending: PromiseWithResolvers<void> | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", (error) => this.#pending?.reject(error));
    socket.on("close", () => this.#pending?.reject(new Error("redis-server has closed the connection")));
  }

  static async open(port: number): Promise<Resp> {
    const socket = connect(port, "127.0.0.1");
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return new Resp(socket);
  }

  /** Sends commands in one piece and waits for so many lines of replies. */
  send(request: Buffer, lines: number): Promise<void> {
    this.#lines += lines;
    this.#pending = Promise.withResolvers();
    this.#socket.write(request);
    return this.#pending.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    if (this.#lines > 0 && chunk[0] === 0x2d) this.#failed = true;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) this.#lines--;
    if (this.#failed) this.#pending?.reject(new Error(chunk.toString("latin1", 0, 200)));
    else if (this.#lines === 0) this.#pending?.resolve();
  }
}
