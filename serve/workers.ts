import { join } from "node:path";
import { readManifest, type Manifest } from "../src/contract/queue-manifest.ts";
import { buildOf, MAIN, type Build, type ServiceTarget } from "./build.ts";
import { bundleWorker } from "./bundle.ts";
import type { BoxConfig, WorkerConfig } from "./config.ts";

/** What a Worker declares. Throws a `QueueError` when that is not what a manifest may hold. */
export function manifestOf({ name, queues }: Pick<WorkerConfig, "name" | "queues">): Manifest {
  // The broker is bound to each Worker under its very name.
  return readManifest({ name, queues }, (script) => script);
}

/** What a Worker is called in the process; no name of a Worker is one of the broker's own. */
function serviceName(name: string): string {
  return name === "waggle" ? MAIN : `worker:${name}`;
}

/** Bundles the Workers of a box into a folder. */
export async function buildWorkers(
  { workers }: BoxConfig,
  like: Build,
  folder: string,
): Promise<Record<string, Build>> {
  const builds = workers.map(async (worker): Promise<[string, Build]> => {
    const path = join(folder, `${worker.name}.js`);
    await bundleWorker(worker.main, path);
    const build = buildOf(path, like, {
      vars: worker.vars,
      services: bindingsOf(worker),
      compatibilityDate: worker.compatibility_date ?? like.compatibilityDate,
      compatibilityFlags: worker.compatibility_flags,
    });
    return [serviceName(worker.name), build];
  });
  return Object.fromEntries(await Promise.all(builds));
}

/** What a Worker is bound to. A queue binding becomes what takes its place where the broker is deployed. */
function bindingsOf({ name, services, queues }: WorkerConfig): Record<string, ServiceTarget> {
  const { producers } = manifestOf({ name, queues });
  return Object.fromEntries([
    ...producers.map(({ binding, queue }) => [binding, { service: MAIN, entrypoint: "Queue", props: { queue } }]),
    ...services.map(({ binding, service, ...rest }) => [binding, { service: serviceName(service), ...rest }]),
  ]);
}

/** The broker's bindings to the Workers that consume, each under the name that it is declared by. */
export function consumerBindings({ workers }: BoxConfig): Record<string, ServiceTarget> {
  return Object.fromEntries(
    workers.map(({ name, entrypoint }) => [
      name,
      { service: serviceName(name), ...(entrypoint === undefined ? {} : { entrypoint }) },
    ]),
  );
}

/** Where the broker and those Workers listen that have a port. */
export function addressesOf({ host, port, workers }: BoxConfig): Record<string, string> {
  const name = host.includes(":") ? `[${host}]` : host;
  const own = workers.flatMap((worker) =>
    worker.port === undefined ? [] : [[serviceName(worker.name), `${name}:${worker.port}`]],
  );
  return Object.fromEntries([[MAIN, `${name}:${port}`], ...own]);
}
