import { describe, expect, it } from "vitest";
import { parseKeys } from "../../src/auth/keys.ts";
import { readConfig, type Env } from "../../src/config.ts";
import { WaggleError } from "../../src/contract/errors.ts";
import { parseOrigins } from "../../src/contract/origins.ts";

const KEY = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYw-_";

describe("WAGGLE_KEYS", () => {
  it("is an object of kid to base64url key, of which the first signs", () => {
    const keys = parseKeys(JSON.stringify({ zeta: KEY, "alpha.2-b_c": "A".repeat(43) }));
    expect([...keys.keys()]).toEqual(["zeta", "alpha.2-b_c"]);
    expect(keys.get("zeta")?.byteLength).toBe(33);
    expect(keys.get("alpha.2-b_c")).toEqual(new Uint8Array(32));
  });

  it.each([
    ["", "JSON object"],
    ["null", "JSON object"],
    ["[]", "JSON object"],
    [`"${KEY}"`, "JSON object"],
    [KEY, "JSON object"],
    ["{}", "no key"],
    [`{"2026":"${KEY}"}`, "letter"],
    [`{"":"${KEY}"}`, "letter"],
    [`{"a b":"${KEY}"}`, "letter"],
    [`{"k1":7}`, "base64url"],
    [`{"k1":""}`, "base64url"],
    [`{"k1":"${KEY}+"}`, "base64url"],
    [`{"k1":"${KEY}A"}`, "base64url"],
    [`{"k1":"${"A".repeat(42)}"}`, "31 bytes"],
    [`{"k1":"${KEY}","k2":"c2hvcnQ"}`, "5 bytes"],
  ])("is refused by name when it is %j, and given away by no error", (text, says) => {
    const act = () => readConfig({ WAGGLE_KEYS: text } as Env);
    expect(act).toThrow(WaggleError);
    expect(act).toThrow("WAGGLE_KEYS");
    expect(act).toThrow(says);
    expect(act).not.toThrow(KEY.slice(0, 8));
  });

  it("need not be there", () => {
    expect(readConfig({} as Env).keys).toBeNull();
  });
});

describe("CORS_ORIGINS", () => {
  it.each([
    ["", new Set()],
    [" ", new Set()],
    ["*", "*"],
    ["https://example.com", new Set(["https://example.com"])],
    ["https://a.test, http://localhost:5173", new Set(["https://a.test", "http://localhost:5173"])],
  ])("is read from %j", (text, origins) => {
    expect(parseOrigins(text)).toEqual(origins);
    expect(readConfig({ CORS_ORIGINS: text } as Env).corsOrigins).toEqual(origins);
  });

  it.each([
    "example.com",
    "https://example.com/",
    "https://Example.com",
    "https://example.com:443",
    "https://*.example.com",
    "*, https://example.com",
    "https://a.test,",
    "null",
    "ftp://example.com",
    "https://user@example.com",
  ])("is refused by name when it is %j", (text) => {
    expect(() => readConfig({ CORS_ORIGINS: text } as Env)).toThrow("CORS_ORIGINS");
  });
});
