import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describedTools } from "../src/mcp/described.ts";
import { openApiDocument } from "../src/openapi/document.ts";

/** Writes down what the routes and the tools of /mcp take and answer. */

const ROOT = join(import.meta.dirname, "..");

await write("public/openapi.json", openApiDocument());
await write("src/mcp/tool-list.json", describedTools());

/** A file that says so already is left alone, as somebody may be reading it. */
async function write(path: string, value: object): Promise<void> {
  const file = join(ROOT, path);
  const text = `${JSON.stringify(value, null, 2)}\n`;
  if ((await readFile(file, "utf8").catch(() => null)) !== text) await writeFile(file, text);
}
