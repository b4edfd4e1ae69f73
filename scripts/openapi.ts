import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openApiDocument } from "../src/openapi/document.ts";

/** Writes down what the routes take and answer. A file that says so already is left alone, as somebody may be reading it. */

const FILE = join(import.meta.dirname, "..", "public", "openapi.json");

const text = `${JSON.stringify(openApiDocument(), null, 2)}\n`;
if ((await readFile(FILE, "utf8").catch(() => null)) !== text) await writeFile(FILE, text);
