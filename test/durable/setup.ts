import { reset } from "cloudflare:test";
import { beforeAll } from "vitest";
import { QUEUES, result } from "./support.ts";

/** One runtime serves many files, one after the other: each begins with a broker that holds nothing. */
beforeAll(async () => {
  do await reset();
  while ((await result<unknown[]>("GET", QUEUES)).length > 0);
  await reset();
});
