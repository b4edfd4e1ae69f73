import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { lookup } from "mrmime";
import type { Build } from "./build.ts";

/** What is known of a file before it is asked for. */
interface Asset {
  type: string;
  etag: string;
}

/** The service that reads the folder. */
export const ASSETS_SERVICE = "assets";

const FRONT = join(import.meta.dirname, "front.js");

/**
 * The broker with the files of a folder before its routes, as Workers' static assets would be. They are listed once, here;
 * `folder` is where that list may be written.
 */
export async function withAssets(build: Build, assets: string, folder: string): Promise<Build> {
  const index = join(folder, "assets.json");
  await writeFile(index, JSON.stringify(await indexOf(assets)));
  return {
    ...build,
    modules: [
      { name: "front.js", path: FRONT, type: "esModule" },
      { name: "assets.json", path: index, type: "json" },
      ...build.modules,
    ],
    services: { ...build.services, ASSETS: { service: ASSETS_SERVICE } },
  };
}

/** The files of a folder, by their path in a URL. What is hidden stays so. */
async function indexOf(folder: string): Promise<Record<string, Asset>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const assets = await Promise.all(
    files.map(async (file): Promise<[string, Asset]> => {
      const hash = createHash("sha256").update(await readFile(file));
      return [pathOf(relative(folder, file)), { type: typeOf(file), etag: `"${hash.digest("hex").slice(0, 32)}"` }];
    }),
  );
  return Object.fromEntries(assets.filter(([path]) => !path.includes("/.")));
}

function pathOf(file: string): string {
  return `/${file.split(sep).map(encodeURIComponent).join("/")}`;
}

function typeOf(file: string): string {
  const type = lookup(file) ?? "application/octet-stream";
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type;
}
