import { expect, it } from "vitest";
import { call, depth, freshQueue, popPath, post, push, pushTexts, read } from "./support.ts";

/** The text between the envelope and the end of an answer with one message. */
async function poppedText(queue: string): Promise<string> {
  const text = await (await call(popPath(queue))).text();
  const head = /^\{"queue":"[^"]*","messages":\[\{"id":"[^"]*","partition":"Default","attempts":1,"payload":/.exec(
    text,
  );
  expect(head, text.slice(0, 300)).not.toBeNull();
  expect(text.slice(-3)).toBe("}]}");
  return text.slice(head?.[0].length, -3);
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

it.each([
  ["a float without fraction", "1.0"],
  ["a 20-digit integer", "12345678901234567890"],
  ["minus zero", "-0"],
  ["a number beyond any double", "1e400"],
  ["a small exponent", "1.5E-0400"],
  ["null", "null"],
  ["true", "true"],
  ["false", "false"],
  ["an empty string", '""'],
  ["an empty object", "{}"],
  ["an empty array", "[]"],
  ["escapes", '"\\u0041\\/\\b\\n\\"\\\\"'],
  ["a lone surrogate as an escape", '"\\ud800"'],
  ["DEL and a no-break space", '"\u007f\u00a0"'],
  ["line separators", '"\u2028\u2029"'],
  ["a byte order mark", '"\ufeff"'],
  ["Latin letters", '"é"'],
  ["three-byte letters", '"漢字"'],
  ["four-byte characters", '"😀👩‍👩‍👧"'],
  ["repeated keys", '{"a":1,"a":2,"":3}'],
  ["keys that objects treat in a special way", '{"__proto__":{"x":1},"10":1,"9":2}'],
  ["white space inside", '{ "a" :\t[ 1 ,\r\n 2 ] }'],
  ["what looks like an envelope", '{"payload":{"messages":[{"payload":"]}"}]}}'],
])("brings %s back byte for byte, and charges its bytes", async (_, text) => {
  const queue = freshQueue();
  expect(await read(pushTexts(queue, [text]), 201)).toEqual({ pushed: 1 });
  expect((await depth(queue)).bytes).toBe(utf8Length(text));
  expect(await poppedText(queue)).toBe(text);
});

it("takes a payload that nests 100,000 levels deep", async () => {
  const levels = 100_000;
  for (const text of [
    `${"[".repeat(levels)}${"]".repeat(levels)}`,
    `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`,
  ]) {
    const queue = freshQueue();
    await read(pushTexts(queue, [text]), 201);
    expect((await poppedText(queue)) === text).toBe(true);
  }
});

it.each([
  ["ASCII", "a"],
  ["Latin", "é"],
  ["two-byte", "Ж"],
  ["four-byte", "😀"],
])("takes a payload of 9 MB that starts with a character that is %s", async (_, first) => {
  const queue = freshQueue();
  const text = `"${first}${"a".repeat(9_000_000)}"`;
  await read(pushTexts(queue, [text]), 201);
  expect((await depth(queue)).bytes).toBe(utf8Length(text));
  expect((await poppedText(queue)) === text).toBe(true);
});

it("drops white space around a payload, and no byte of it", async () => {
  const queue = freshQueue();
  await read(post("push", ` { "queue" : "${queue}" , "messages" : [ { "payload" : \n\t "x y" \r } ] } `), 201);
  expect((await depth(queue)).bytes).toBe(5);
  expect(await poppedText(queue)).toBe('"x y"');
});

it("takes the last of a repeated key", async () => {
  const queue = freshQueue();
  const messages = '"messages":[{"payload":1}],"messages":[{"payload":2,"payload":3}]';
  expect(await read(post("push", `{"queue":"x","queue":"${queue}",${messages}}`), 201)).toEqual({ pushed: 1 });
  expect(await poppedText(queue)).toBe("3");
});

it("reads escaped keys and names", async () => {
  const queue = freshQueue();
  const escaped = `\\u0071${queue.slice(1)}`;
  await read(post("push", `{"\\u0071ueue":"${escaped}","m\\u0065ssages":[{"p\\u0061yload":"\\u0041"}]}`), 201);
  expect(await poppedText(queue)).toBe('"\\u0041"');
});

it("brings many payloads of one answer back in order", async () => {
  const queue = freshQueue();
  const texts = Array.from({ length: 500 }, (_, i) => `{"n":${i}.0,"s":"${"é".repeat(i % 7)}"}`);
  await read(pushTexts(queue, texts), 201);
  const text = await (await call(popPath(queue, { batch: 500 }))).text();
  const found = Array.from(text.matchAll(/"payload":(\{.*?\})\}/g), ([, payload]) => payload);
  expect(found).toEqual(texts);
});

it("charges all payloads of a queue, freed ones not", async () => {
  const queue = freshQueue();
  await push(queue, ["ab", "é"]);
  await push(queue, [12345], "other");
  const { bytes, partitions } = await depth(queue);
  expect(bytes).toBe(4 + 4 + 5);
  expect(partitions.map((partition) => partition.bytes)).toEqual([8, 5]);
  await call(popPath(queue, { autoAck: true, partition: "Default" }));
  expect((await depth(queue)).bytes).toBe(4 + 5);
});
