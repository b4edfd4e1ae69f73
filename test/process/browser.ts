import { createServer, type Server } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** The system's Chromium, without what it asks of the network by itself. */
export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
};

/** Serves a folder at an origin of its own: what a page sees of the broker from there, it sees by the rules of CORS. */
export class Site {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async of(folder: string): Promise<Site> {
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://site");
      const file = join(folder, normalize(pathname.endsWith("/") ? `${pathname}index.html` : pathname));
      readFile(file).then(
        (content) => response.setHeader("content-type", TYPES[extname(file)] ?? "text/plain").end(content),
        () => response.writeHead(404).end(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the site has no port");
    return new Site(server, address.port);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Everything that a page complains of: what it throws, and what its console calls an error. */
export function complaints(page: Page): string[] {
  const heard: string[] = [];
  page.on("pageerror", (error) => heard.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") heard.push(message.text());
  });
  return heard;
}
