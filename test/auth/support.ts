import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env as bindings } from "cloudflare:workers";
import { expect } from "vitest";
import { parseKeys, type Keys } from "../../src/auth/keys.ts";
import { mintToken, signJwt } from "../../src/auth/mint.ts";
import type { Env } from "../../src/config.ts";
import type { Claims } from "../../src/contract/rights.ts";
import worker from "../../src/index.ts";
import { KEYS } from "./keys.ts";

export const env = bindings as unknown as Env;
export const keys = parseKeys(JSON.stringify(KEYS));

export interface Sent {
  method?: string;
  path: string;
  /** Sent as a bearer token. */
  token?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/** The broker's own handler, with other vars than those of this run if need be. */
export async function send({ method = "GET", path, token, headers = {}, body }: Sent, vars: object = {}) {
  const ctx = createExecutionContext();
  const init: RequestInit = { method, headers: { ...headers, ...(token !== undefined && bearer(token)) } };
  if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
  const response = await worker.fetch(new Request(`http://waggle${path}`, init), { ...env, ...vars } as Env, ctx);
  await waitOnExecutionContext(ctx);
  return response;
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

export function mint(claims: Claims, seconds = 60): Promise<string> {
  return mintToken(keys, claims, seconds);
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** A token of any payload, that could come from somebody else's library. */
export function sign(payload: object, typ = "JWT", by: Keys = keys): Promise<string> {
  return signJwt(by, typ, payload);
}

/** A JWT with any head and no signature that fits it. */
export function unsigned(head: object, payload: object, signature = ""): string {
  return `${part(head)}.${part(payload)}.${signature}`;
}

function part(value: object): string {
  return btoa(JSON.stringify(value)).replaceAll("=", "").replaceAll("+", "-");
}

/** Namespaces that count how often anybody reaches for an object, and give none. */
export function watched(): { vars: Pick<Env, "OWNER" | "DECLARATIONS" | "DURABLE_QUEUE">; touched: () => string[] } {
  const touched: string[] = [];
  const namespace = (name: string) =>
    new Proxy(
      {},
      {
        get(_, method) {
          touched.push(`${name}.${String(method)}`);
          throw new Error(`${name} was touched`);
        },
      },
    );
  const vars = {
    OWNER: namespace("OWNER"),
    DECLARATIONS: namespace("DECLARATIONS"),
    DURABLE_QUEUE: namespace("DURABLE_QUEUE"),
  } as unknown as Pick<Env, "OWNER" | "DECLARATIONS" | "DURABLE_QUEUE">;
  return { vars, touched: () => touched };
}

export interface Refused {
  code: string | number;
  text: string;
}

/** Asserts a refusal in the envelope that the path has, and that no object was reached for. */
export async function refusedUntouched(sent: Sent, status: 401 | 403): Promise<Refused> {
  const { vars, touched } = watched();
  const response = await send(sent, vars);
  const text = await response.text();
  expect([response.status, touched()], `${sent.method} ${sent.path}: ${text}`).toEqual([status, []]);
  const challenge = response.headers.get("www-authenticate");
  if (status === 401) expect(challenge).toMatch(/^Bearer realm="waggle"/);
  else expect(challenge).toBeNull();
  expect(response.headers.get("content-type")).toBe("application/json");
  return refusalIn(JSON.parse(text));
}

interface Envelope {
  errors?: { code: number; message: string }[];
  error?: string;
  code?: string;
}

function refusalIn(body: Envelope): Refused {
  const [first] = body.errors ?? [];
  if (first !== undefined) {
    expect(body).toEqual({ success: false, errors: [first], messages: [], result: null });
    return { code: first.code, text: first.message };
  }
  expect(Object.keys(body)).toEqual(["error", "code"]);
  return { code: body.code ?? "", text: body.error ?? "" };
}
