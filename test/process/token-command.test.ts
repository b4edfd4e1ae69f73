import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { jwtVerify } from "jose";
import { expect, it } from "vitest";
import { KEYS } from "../auth/keys.ts";

const ROOT = join(import.meta.dirname, "..", "..");

function run(...args: string[]): Promise<{ stdout: string }> {
  const env = { ...process.env, WAGGLE_KEYS: JSON.stringify(KEYS) };
  return promisify(execFile)("npm", ["run", "-s", "token", "--", ...args], { cwd: ROOT, env });
}

it("npm run token mints a token offline, with the first of the keys", async () => {
  const claims = { queues: [{ queue: "orders", verbs: ["send"] }] };
  const { stdout } = await run(JSON.stringify(claims), "60");
  const { payload, protectedHeader } = await jwtVerify(stdout.trim(), Buffer.from(KEYS.new, "base64url"));
  expect(payload).toMatchObject(claims);
  expect((payload.exp ?? 0) - Date.now() / 1000).toBeCloseTo(60, -1);
  expect(protectedHeader).toEqual({ alg: "HS256", typ: "JWT", kid: "new" });
});

it("npm run token says what it cannot mint", async () => {
  await expect(run('{"admin":"yes"}', "60")).rejects.toThrow("claims.admin");
  await expect(run("{}", "soon")).rejects.toThrow("expiresInSeconds");
  await expect(run("{}")).rejects.toThrow("usage");
});
