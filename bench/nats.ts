import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { connect } from "@nats-io/transport-node";
import { Child } from "./children.ts";
import { freePort } from "./free-port.ts";

/** Starts a NATS server, or answers null where none is installed. */
export async function startNats(): Promise<{ server: string; stop(): Promise<void> } | null> {
  try {
    await promisify(execFile)("nats-server", ["--version"]);
  } catch {
    return null;
  }
  const port = await freePort();
  const child = new Child("nats-server", ["--addr", "127.0.0.1", "--port", String(port)]);
  const server = `127.0.0.1:${port}`;
  try {
    await (
      await connect({ servers: server, waitOnFirstConnect: true, maxReconnectAttempts: 100, reconnectTimeWait: 50 })
    ).close();
  } catch (error) {
    await child.end("SIGKILL");
    throw new Error(`nats-server did not come up\n${child.stderr}`, { cause: error });
  }
  return { server, stop: () => child.end("SIGTERM") };
}
