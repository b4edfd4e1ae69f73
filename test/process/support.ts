import { connect, type Socket } from "node:net";
import type { Workerd } from "../../bench/workerd.ts";

export interface Message {
  id: string;
  partition: string;
  attempts: number;
  payload: unknown;
}

/** The broker's routes, as far as these tests use them. */
export class Client {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async post(verb: string, body: unknown): Promise<unknown> {
    const response = await fetch(`${this.url}/api/v1/ephemeral/${verb}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${verb}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  async push(queue: string, payloads: unknown[]): Promise<void> {
    await this.post("push", { queue, messages: payloads.map((payload) => ({ payload })) });
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(this.url + path);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json() as Promise<T>;
  }

  async pop(query: string): Promise<Message[]> {
    return (await this.get<{ messages: Message[] }>(`/api/v1/ephemeral/pop?${query}`)).messages;
  }

  async parkedPops(): Promise<number> {
    const { owners } = await this.get<{ owners: { parkedPops: number }[] }>("/api/v1/system/owners");
    return owners.reduce((sum, owner) => sum + owner.parkedPops, 0);
  }
}

/** Waits until `read` answers `wanted`; the runtime notices some things only after a moment. */
export async function eventually<T>(read: () => Promise<T>, wanted: T, ms = 10_000): Promise<void> {
  const until = Date.now() + ms;
  for (;;) {
    const value = await read();
    if (value === wanted) return;
    if (Date.now() > until) throw new Error(`still ${String(value)} after ${ms} ms, wanted ${String(wanted)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A request on a connection of its own, so that a test can hang up the way it likes. */
export async function rawGet({ port }: Pick<Workerd, "port">, path: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.on("error", () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nhost: waggle\r\n\r\n`);
  return socket;
}
