import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openApiDocument } from "../src/openapi/document.ts";

/** Writes down what the routes take and answer, for those who have no broker at hand. */

const PUBLIC = join(import.meta.dirname, "..", "public");

await mkdir(PUBLIC, { recursive: true });
await writeFile(join(PUBLIC, "openapi.json"), `${JSON.stringify(openApiDocument(), null, 2)}\n`);
