import { expect, it } from "vitest";
import { readable } from "../../public/studio/bodies.js";
import { bytes, rate, span } from "../../public/studio/format.js";
import { QueueHistory } from "../../public/studio/history.js";
import { pretty } from "../../public/studio/json.js";

/** A history that is looked at every 900 ms, while so many messages a second come and leave. */
function watched(seconds: number, came: number, left: number): { history: QueueHistory; now: number } {
  const history = new QueueHistory();
  let now = 1_000_000;
  for (const until = now + seconds * 1000; now < until; now += 900) {
    const passed = (now - 1_000_000) / 1000;
    history.add({ at: now, depth: (came - left) * passed, came: came * passed, left: left * passed });
  }
  return { history, now: now - 900 };
}

it("tells steady rates as they are, between two looks too", () => {
  const { history, now } = watched(60, 40, 25);
  for (const ahead of [0, 300, 900, 1900]) {
    const { came, left } = history.ratesAt(now + ahead);
    expect([came, left].map(Math.round)).toEqual([40, 25]);
  }
});

it("forgets a rate once nothing comes any more, and does not spread a burst over the silence before it", () => {
  const { history, now } = watched(10, 40, 40);
  expect(history.ratesAt(now + 10_000)).toEqual({ came: 0, left: 0 });
  const seen = history.samples.at(-1)?.came ?? NaN;
  history.add({ at: now + 60_000, depth: 100, came: seen + 100, left: seen });
  expect(history.ratesAt(now + 60_000)).toEqual({ came: 20, left: 0 });
  expect(history.ratesAt(now + 55_000).came).toBe(0);
});

it("begins anew when a count does, as that of an ephemeral queue does with its owner", () => {
  const { history, now } = watched(30, 40, 40);
  history.add({ at: now + 900, depth: 3, came: 3, left: 0 });
  expect(history.samples).toHaveLength(1);
  expect(history.ratesAt(now + 900)).toEqual({ came: 0, left: 0 });
});

it("keeps two minutes", () => {
  const { history, now } = watched(600, 1, 1);
  const points = history.depths(now);
  expect(points.at(-1)?.at).toBe(now);
  expect(now - (points[0]?.at ?? 0)).toBeLessThanOrEqual(120_000);
  expect(history.samples.length).toBeLessThan(140);
});

it("prints JSON for reading, every number with the digits that it came with", () => {
  expect(pretty('{"a":[1,"ü"]}')).toBe('{\n  "a": [\n    1,\n    "ü"\n  ]\n}');
  expect(pretty('{"n":12345678901234567890,"m":1.0}')).toBe('{\n  "n": 12345678901234567890,\n  "m": 1.0\n}');
  expect(pretty("no JSON")).toBe("no JSON");
});

it("shows bodies of each content type as what they are", () => {
  expect(readable("text", "ü")).toEqual({ about: "text, 2 B", text: "ü" });
  expect(readable("json", btoa("[1]"))).toEqual({ about: "JSON, 3 B", text: "[\n  1\n]" });
  expect(readable("v8", btoa("abc"))).toEqual({ about: "v8, 3 B: a structured clone, here in base64", text: "YWJj" });
  const { text } = readable("bytes", btoa("x".repeat(600)));
  expect(text.split("\n")).toHaveLength(33);
  expect(text).toContain(`0010  ${"78 ".repeat(16).trim()}  ${"x".repeat(16)}`);
  expect(text).toContain("and 88 B more");
});

it("writes figures in short", () => {
  expect([0, 999, 1000, 123_456, 8_000_000_000].map(bytes)).toEqual(["0 B", "999 B", "1.0 KB", "123 KB", "8.0 GB"]);
  expect([0, 0.01, 0.44, 9.96, 1234.4].map(rate)).toEqual(["0/s", "<0.1/s", "0.4/s", "10.0/s", "1,234/s"]);
  expect([-5, 59_999, 60_000, 90_000, 3_600_000, 90_061_000].map(span)).toEqual([
    "0 s",
    "59 s",
    "1 min",
    "1 min 30 s",
    "1 h",
    "1 d 1 h",
  ]);
});
