/** The broker's own defaults; a test waits for no checkpoint longer than it must. */
const VARS = { AUTH: "off", CHECKPOINT_MS: 100, OWNERS: 2 };

/** Read when a configuration is made, which Node does; the types are those of Workers. */
const here = import.meta as unknown as { url: string };

/** An auxiliary Worker, as Miniflare takes it. */
export interface BrokerWorker {
  name: string;
  modules: { type: "ESModule"; path: string }[];
  compatibilityDate: string;
  compatibilityFlags: string[];
  durableObjects: Record<string, { className: string; useSQLite: true }>;
  bindings: Record<string, string | number>;
}

/**
 * The broker as an auxiliary Worker of a suite that runs with `@cloudflare/vitest-pool-workers`. `vars` are those of
 * Waggle's `wrangler.toml`.
 *
 * ```ts
 * // vitest.config.ts
 * cloudflareTest({
 *   wrangler: { configPath: "./wrangler.toml" },
 *   miniflare: {
 *     workers: [waggle()],
 *     serviceBindings: {
 *       ORDERS: { name: "waggle", entrypoint: "Queue", props: { queue: "orders" } },
 *       WAGGLE: { name: "waggle", entrypoint: "Testing" },
 *     },
 *   },
 * });
 * ```
 */
export function waggle(vars: Record<string, string | number> = {}): BrokerWorker {
  const path = decodeURIComponent(new URL("broker.js", here.url).pathname);
  return {
    name: "waggle",
    modules: [{ type: "ESModule", path }],
    compatibilityDate: "2026-10-28",
    compatibilityFlags: ["enable_request_signal"],
    durableObjects: {
      OWNER: object("Owner"),
      DECLARATIONS: object("Declarations"),
      DURABLE_QUEUE: object("DurableQueue"),
    },
    bindings: { ...VARS, ...vars },
  };
}

function object(className: string) {
  return { className, useSQLite: true as const };
}
