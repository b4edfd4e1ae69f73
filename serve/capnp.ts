import { relative } from "node:path";
import { MAIN, type Build, type ServiceTarget } from "./build.ts";

/** What runs in one `workerd`. */
export interface Layout {
  /** By name; the broker is {@link MAIN}. */
  workers: Record<string, Build>;
  /** Where Workers listen, such as `127.0.0.1:6632`, by their names. Port 0 = any free one. */
  addresses: Record<string, string>;
  /** Where objects keep their files. */
  disk: string;
  /** Folders that Workers may read, by the name of the service that their bindings reach. */
  folders?: Record<string, string>;
}

/** The configuration of `workerd serve`, as it is to stand in a file of the folder `folder`. */
export function capnp({ workers, addresses, disk, folders = {} }: Layout, folder: string): string {
  const named = Object.entries(workers).map(([name, build], index) => ({ name, build, constant: `worker${index}` }));
  const services = [
    ...named.map(({ name, constant }) => `(name = ${quoted(name)}, worker = .${constant})`),
    // What fetch() reaches: HTTP consumers may be on this machine.
    `(name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true)))`,
    `(name = "disk", disk = (path = ${quoted(disk)}, writable = true))`,
    ...Object.entries(folders).map(([name, path]) => `(name = ${quoted(name)}, disk = (path = ${quoted(path)}))`),
  ];
  const sockets = Object.entries(addresses).map(
    ([name, address]) => `(name = ${quoted(name)}, address = ${quoted(address)}, http = (), service = ${quoted(name)})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [${services.join(", ")}],
  sockets = [${sockets.join(", ")}],
);
${named.map(({ name, build, constant }) => workerConstant(constant, name, build, folder)).join("")}`;
}

function workerConstant(constant: string, name: string, build: Build, folder: string): string {
  // An embedded path is read as relative to the file that names it, even when it begins with a slash.
  const modules = build.modules.map(
    (module) => `(name = ${quoted(module.name)}, ${module.type} = embed ${quoted(relative(folder, module.path))})`,
  );
  const owner = name === MAIN ? "waggle" : name;
  const namespaces = [...new Set(Object.values(build.objects))].map(
    (className) =>
      `(className = ${quoted(className)}, uniqueKey = ${quoted(`${owner}-${className}`)}, enableSql = true)`,
  );
  return `
const ${constant} :Workerd.Worker = (
  modules = [${modules.join(", ")}],
  compatibilityDate = ${quoted(build.compatibilityDate)},
  compatibilityFlags = [${build.compatibilityFlags.map(quoted).join(", ")}],
  durableObjectNamespaces = [${namespaces.join(", ")}],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [${bindingsOf(build).join(", ")}],
);
`;
}

function bindingsOf({ objects, services = {}, vars }: Build): string[] {
  return [
    ...Object.entries(objects).map(
      ([name, className]) => `(name = ${quoted(name)}, durableObjectNamespace = ${quoted(className)})`,
    ),
    ...Object.entries(services).map(([name, target]) => `(name = ${quoted(name)}, service = ${designator(target)})`),
    ...Object.entries(vars).map(([name, value]) =>
      typeof value === "string"
        ? `(name = ${quoted(name)}, text = ${quoted(value)})`
        : `(name = ${quoted(name)}, json = ${quoted(JSON.stringify(value))})`,
    ),
  ];
}

function designator({ service, entrypoint, props }: ServiceTarget): string {
  const parts = [`name = ${quoted(service)}`];
  if (entrypoint !== undefined) parts.push(`entrypoint = ${quoted(entrypoint)}`);
  if (props !== undefined) parts.push(`props = (json = ${quoted(JSON.stringify(props))})`);
  return `(${parts.join(", ")})`;
}

/** A text of a Cap'n Proto file; its escapes are those of JSON as far as names, paths and vars go. */
function quoted(value: string): string {
  return JSON.stringify(value);
}
