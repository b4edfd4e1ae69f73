import * as fc from "fast-check";
import { expect, it } from "vitest";
import { WaggleError } from "../../src/contract/errors.ts";
import { decodeSegment, queryOf } from "../../src/http/query.ts";

function read(query: string): Record<string, string> {
  return { ...queryOf(`http://h/p?${query}`) };
}

it.each([
  ["http://h/p", {}],
  ["http://h/p?", {}],
  ["http://h/p?&&", {}],
  ["http://h/p?a", { a: "" }],
  ["http://h/p?a=", { a: "" }],
  ["http://h/p?=b", { "": "b" }],
  ["http://h/p?a=b=c", { a: "b=c" }],
  ["http://h/p?a=1&b=2&", { a: "1", b: "2" }],
  ["http://h/p?a=b?c", { a: "b?c" }],
  ["http://h/p?a=b#c=d", { a: "b" }],
  ["http://h/p#?a=b", {}],
  ["http://h/p?a+b=c+d", { "a b": "c d" }],
  ["http://h/p?a%2Bb=c%2Bd", { "a+b": "c+d" }],
  ["http://h/p?%61=%C3%A9", { a: "é" }],
  ["http://h/p?a=%26%3D%23%25", { a: "&=#%" }],
  ["http://h/p?__proto__=x&constructor=y", { ["__proto__"]: "x", constructor: "y" }],
])("reads %s", (url, expected) => {
  expect(Object.entries(queryOf(url))).toEqual(Object.entries(expected));
});

it("takes the first of a repeated name", () => {
  expect(read("a=1&a=2&b=3&a=")).toEqual({ a: "1", b: "3" });
  expect(read("a=&a=2")).toEqual({ a: "" });
});

it("knows no name that was not sent", () => {
  for (const name of ["toString", "hasOwnProperty", "__proto__"])
    expect(queryOf("http://h/p?a=1")[name]).toBeUndefined();
});

it.each(["%", "%1", "%zz", "%C3", "%C3%28", "%ED%A0%80", "%FF", "%C0%80"])(
  "refuses %s, naming the parameter",
  (escape) => {
    for (const act of [() => read(`a=1&group=x${escape}`), () => decodeSegment(`x${escape}`, "group")]) {
      expect(act).toThrow(WaggleError);
      expect(act).toThrow(/^group is not percent-encoded UTF-8$/);
    }
    expect(() => read(`${escape}=1`)).toThrow(/^the query is not/);
  },
);

it("leaves a plus of a path alone", () => {
  expect(decodeSegment("a+b%20c%2Fd", "queue")).toBe("a+b c/d");
});

it("reads back whatever was encoded, as URLSearchParams does", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 8 });
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name }), (pairs) => {
      const expected = Object.fromEntries(pairs.filter(([name, value]) => name !== "" || value !== ""));
      const byHand = pairs.map((pair) => pair.map(encodeURIComponent).join("=")).filter((pair) => pair !== "=");
      expect({ ...read(byHand.join("&")) }).toEqual(expected);
      const params = new URLSearchParams(Object.entries(expected));
      expect({ ...read(params.toString()) }).toEqual(expected);
    }),
    { numRuns: 1000 },
  );
});

it("agrees with decodeURIComponent about what can be decoded", () => {
  const escapes = fc.array(fc.constantFrom("%", "%C3", "%A9", "%E2%82", "%AC", "a", "%2", "%F0%9F%98%80", "%ED%A0%80"));
  fc.assert(
    fc.property(
      escapes.map((all) => all.join("")),
      (text) => {
        let expected: string | null;
        try {
          expected = decodeURIComponent(text);
        } catch {
          expected = null;
        }
        if (expected === null) expect(() => decodeSegment(text, "f")).toThrow(WaggleError);
        else expect(decodeSegment(text, "f")).toBe(expected);
      },
    ),
    { numRuns: 2000 },
  );
});
