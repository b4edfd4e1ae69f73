import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonScanner, JsonSyntaxProblem } from "../../src/contract/json-scanner.ts";

/** Whether the scanner takes a text whole. Anything but a syntax problem is a defect. */
function scans(text: string, maxDepth?: number): boolean {
  const scanner = new JsonScanner(text);
  try {
    scanner.skip(maxDepth);
    scanner.end();
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxProblem) return false;
    throw error;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const white = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

/** A number as JSON writes it, in more ways than `JSON.stringify` knows. */
const numberText = fc.stringMatching(/^-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?$/);

/** A string as JSON writes it, with escapes that need none. */
const stringText = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 3 }).map((text) => JSON.stringify(text).slice(1, -1)),
      fc.stringMatching(/^\\u[0-9a-fA-F]{4}$/),
      fc.constantFrom("\\/", "\\b", '\\"', "\\\\", "\u007f", "\u2028", "é", "😀"),
    ),
    { maxLength: 5 },
  )
  .map((parts) => `"${parts.join("")}"`);

/** Any JSON text, white space included. */
const jsonText = fc.letrec<{ value: string; padded: string }>((tie) => ({
  padded: fc.tuple(white, tie("value"), white).map((parts) => parts.join("")),
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(numberText, stringText, fc.constantFrom("true", "false", "null", "{}", "[]", "{ }", "[\n]")),
    fc.array(tie("padded"), { maxLength: 4 }).map((values) => `[${values.join(",")}]`),
    fc
      .array(fc.tuple(white, stringText, white, tie("padded")), { maxLength: 4 })
      .map((members) => `{${members.map(([a, key, b, value]) => `${a}${key}${b}:${value}`).join(",")}}`),
  ),
})).padded;

/** An object of plain members without white space, around the number of them that is taken at once. */
const flatText = fc
  .array(fc.tuple(stringText, fc.oneof(numberText, stringText, fc.constantFrom("true", "false", "null"))), {
    maxLength: 40,
    size: "max",
  })
  .map((members) => `{${members.map(([key, value]) => `${key}:${value}`).join(",")}}`);

const scraps = fc.oneof(
  fc.constantFrom(..."{}[],:\"\\ \n\t\r-+.eE0159tfnul/'\u0000\u001f\u00a0\ufeff"),
  fc.constantFrom("true", "null", "\\u", "\\x", "01", "1.", ".5", "NaN", "Infinity", ",,", "\ud800"),
);

/** JSON text that something was cut out of, put into, or doubled in. */
const mutated = fc
  .tuple(
    fc.oneof(jsonText, flatText),
    fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), scraps), { minLength: 1, maxLength: 3 }),
  )
  .map(([text, edits]) =>
    edits.reduce((edited, [place, cut, scrap]) => {
      const at = place % (edited.length + 1);
      return edited.slice(0, at) + scrap + edited.slice(at + cut);
    }, text),
  );

function nested(levels: number): string {
  return `${"[".repeat(levels)}1${"]".repeat(levels)}`;
}

const RUNS = { numRuns: 3000 };

describe("a scanner of JSON", () => {
  it("takes every JSON text", () => {
    fc.assert(
      fc.property(fc.oneof(jsonText, flatText), (text) => {
        expect(parses(text)).toBe(true);
        expect(scans(text)).toBe(true);
      }),
      RUNS,
    );
  });

  it("takes what JSON.parse takes, and nothing else", () => {
    let taken = 0;
    const texts = fc.oneof(
      mutated,
      mutated,
      fc.string({ unit: "binary" }),
      fc.array(scraps).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const valid = parses(text);
        if (valid) taken++;
        expect(scans(text)).toBe(valid);
      }),
      { numRuns: 20_000 },
    );
    // A generator whose texts were all broken would prove half of it.
    expect(taken).toBeGreaterThan(100);
  });

  it("cuts out the exact text of each element and member", () => {
    const members = fc.array(fc.tuple(stringText, jsonText), { maxLength: 5 });
    fc.assert(
      fc.property(members, white, (pairs, gap) => {
        const object = new JsonScanner(
          `${gap}{${pairs.map(([key, value]) => `${gap}${key}${gap}:${value}`).join(",")}}${gap}`,
        );
        const found: [string, string][] = [];
        for (let key = object.firstKey(); key !== null; key = object.nextKey()) found.push([key, object.value()]);
        object.end();
        expect(found).toEqual(
          pairs.map(([key, value]) => [JSON.parse(key), value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "")]),
        );

        const array = new JsonScanner(`[${pairs.map(([, value]) => value).join(",")}]`);
        const elements: string[] = [];
        for (let more = array.firstElement(); more; more = array.nextElement()) elements.push(array.value());
        array.end();
        expect(elements).toEqual(found.map(([, value]) => value));
      }),
      RUNS,
    );
  });

  it("says where a text stops being JSON", () => {
    for (const [text, at] of [
      ["", 0],
      ["[1,]", 3],
      ['{"a":1,}', 7],
      ['{"a" 1}', 5],
      ["[1 2]", 3],
      ['"a\u0001"', 2],
      ["nul", 0],
      ["01", 1],
      ["1.x", 1],
      ['"\\q"', 1],
      ['"abc', 4],
    ] as const) {
      expect(() => {
        const scanner = new JsonScanner(text);
        scanner.skip();
        scanner.end();
      }, text).toThrow(`at character ${at},`);
    }
  });

  it("counts levels of nesting and stops at the limit", () => {
    fc.assert(
      fc.property(fc.nat({ max: 80 }), fc.nat({ max: 80 }), (levels, limit) => {
        expect(scans(nested(levels), limit)).toBe(levels <= limit);
      }),
    );
    const mixed = `${'[{"a":'.repeat(9)}1${"}]".repeat(9)}`;
    expect([scans(mixed, 18), scans(mixed, 17)]).toEqual([true, false]);
  });

  it("keeps brackets of a million levels apart", () => {
    const levels = 1_000_000;
    const kinds = Array.from({ length: levels }, (_, i) => (i * 7919) % 13 < 6);
    const open = kinds.map((isObject) => (isObject ? '{"":' : "[")).join("");
    const close = kinds
      .toReversed()
      .map((isObject) => (isObject ? "}" : "]"))
      .join("");
    expect(scans(`${open}1${close}`)).toBe(true);
    expect(scans(`${open}1${close.slice(0, -1)}`)).toBe(false);
    const wrong = close.slice(0, 500_000) + (close[500_000] === "}" ? "]" : "}") + close.slice(500_001);
    expect(scans(`${open}1${wrong}`)).toBe(false);
  });
});
