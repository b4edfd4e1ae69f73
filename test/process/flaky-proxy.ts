import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What share of answers suffers, half of them each way. */
const SHARE = 0.2;
const MAX_DELAY_MS = 300;

/** A proxy in front of the broker that is no good: it loses some answers, with the connection, and delays others. */
export class FlakyProxy {
  readonly counts = { answers: 0, dropped: 0, delayed: 0 };
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server = createServer((from, to) => this.#forward(from, to));
  #target: URL;

  constructor(target: string) {
    this.#target = new URL(target);
  }

  /** Answers the proxy's own URL. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #forward(from: IncomingMessage, to: ServerResponse): void {
    const { hostname, port } = this.#target;
    const { method = "GET", url = "/", headers } = from;
    const options = { hostname, port, method, path: url, headers, agent: this.#agent };
    const onward = request(options, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("error", () => to.destroy());
      answer.on("end", () => this.#answer(to, answer, Buffer.concat(parts)));
    });
    onward.on("error", () => to.destroy());
    to.on("close", () => onward.destroy());
    from.pipe(onward);
  }

  #answer(to: ServerResponse, { statusCode = 500, headers }: IncomingMessage, body: Buffer): void {
    const send = () => {
      to.writeHead(statusCode, { "content-type": headers["content-type"] ?? "text/plain" });
      to.end(body);
    };
    this.counts.answers++;
    if (Math.random() >= SHARE) return send();
    if (Math.random() < 0.5) {
      this.counts.dropped++;
      to.destroy();
    } else {
      this.counts.delayed++;
      setTimeout(send, Math.random() * MAX_DELAY_MS);
    }
  }
}
