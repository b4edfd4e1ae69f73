import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { parseKeys } from "../src/auth/keys.ts";
import { mintToken } from "../src/auth/mint.ts";
import { caller, wakeQueues, type Call } from "./api.ts";
import { ASSETS_SERVICE, withAssets } from "./assets.ts";
import { runBridge } from "./bridge.ts";
import { BIN, buildBroker, MAIN, ROOT, type Build } from "./build.ts";
import { capnp } from "./capnp.ts";
import { objectsDir, type BoxConfig } from "./config.ts";
import { declare } from "./declare.ts";
import { spawnGuarded } from "./guarded.ts";
import { listening } from "./listening.ts";
import { addressesOf, buildWorkers, consumerBindings } from "./workers.ts";

const TOKEN_SECONDS = 300;
/** What requests under way have to end. */
const STOP_MS = 5000;

/** The broker and its Workers, running. */
export interface Box {
  /** Where it can be asked from here. */
  url: string;
  /** Resolves when the process is gone. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

/** Builds everything anew, starts it, and declares what the file names. */
export async function startBox(box: BoxConfig): Promise<Box> {
  // What runs stands in the data directory, since that is this process's own.
  const folder = join(box.data, "run");
  await rm(folder, { recursive: true, force: true });
  // The keys will stand in it.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await mkdir(objectsDir(box), { recursive: true });
  const keys = box.keys === undefined ? null : await readFile(box.keys, "utf8");
  const file = join(folder, "config.capnp");
  await writeFile(file, await configOf(box, keys, folder));
  const child = spawnGuarded(join(BIN, "workerd"), ["serve", file, "--control-fd=3"]);
  const bridging = new AbortController();
  const running = {
    url: urlOf(box),
    ended: endOf(child),
    stop: () => {
      bridging.abort();
      return stop(child);
    },
  };
  try {
    await listening(child.stdio[3] as Readable, Object.keys(addressesOf(box)), running.ended);
    const call = await callerOf(running.url, keys);
    await declare(call, box);
    await wakeQueues(call);
    // A token does not last as long as a bridge does.
    const here: Call = async (...args) => (await callerOf(running.url, keys))(...args);
    for (const { token, ...bridge } of box.bridges) {
      const secret = (await readFile(token, "utf8")).trim();
      void runBridge({ ...bridge, token: secret }, here, bridging.signal);
    }
    return running;
  } catch (error) {
    await running.stop();
    throw error;
  }
}

async function callerOf(url: string, keys: string | null): Promise<Call> {
  return caller(url, keys === null ? null : await mintToken(parseKeys(keys), { admin: true }, TOKEN_SECONDS));
}

async function configOf(box: BoxConfig, keys: string | null, folder: string): Promise<string> {
  const built = await buildBroker(join(folder, "broker"));
  const broker: Build = {
    ...built,
    services: consumerBindings(box),
    vars: {
      ...built.vars,
      ...box.vars,
      ...(keys === null ? { AUTH: "off" } : { AUTH: "required", WAGGLE_KEYS: keys }),
    },
  };
  const assets = assetsOf(box);
  const workers = {
    [MAIN]: assets === null ? broker : await withAssets(broker, assets, folder),
    ...(await buildWorkers(box, built, folder)),
  };
  const folders: Record<string, string> = assets === null ? {} : { [ASSETS_SERVICE]: assets };
  return capnp({ workers, addresses: addressesOf(box), disk: objectsDir(box), folders }, folder);
}

/** Waggle's own pages, unless the file names others. */
function assetsOf({ assets }: BoxConfig): string | null {
  const own = join(ROOT, "public");
  return assets ?? (existsSync(own) ? own : null);
}

/** An address that listens to everything is reached from here by that of this machine. */
function urlOf({ host, port }: BoxConfig): string {
  const name = host === "0.0.0.0" || host === "*" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = endOf(child);
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await ended;
  clearTimeout(late);
}
