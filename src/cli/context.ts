import { Api } from "../operations/api.ts";
import type { Output } from "./output.ts";

/** The options that every verb takes, before or after it. */
export interface Globals {
  url: string;
  token: string | undefined;
  json: boolean;
  yes: boolean;
}

/** What a verb works with. */
export interface Context {
  globals: Globals;
  output: Output;
  api(): Api;
}

export function contextOf(globals: Globals, output: Output): Context {
  return { globals, output, api: () => new Api(globals.url, globals.token) };
}

/** Aborted by the first Ctrl-C, for verbs that have something to put right before they end. */
export function interrupted(): AbortSignal {
  const controller = new AbortController();
  process.once("SIGINT", () => controller.abort());
  process.once("SIGTERM", () => controller.abort());
  return controller.signal;
}
