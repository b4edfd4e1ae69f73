import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readFrame } from "../../src/contract/socket.ts";

const acks = [{ id: "e:1a:p:7", status: "retry", attempts: 2 }];

describe("a frame of a client", () => {
  it("is read alike however it is written", () => {
    const frame = fc.record(
      {
        ref: fc.oneof(fc.string({ maxLength: 20 }), fc.integer()),
        acks: fc.array(fc.record({ id: fc.string(), status: fc.constantFrom("completed", "retry") }), { maxLength: 3 }),
      },
      { requiredKeys: ["acks"] },
    );
    fc.assert(
      fc.property(frame, ({ ref, acks: sent }) => {
        const members = { ...(ref === undefined ? {} : { ref }), type: "ack", acks: sent };
        const read = readFrame(JSON.stringify(members), "q");
        expect(read).toEqual({ type: "ack", ref: ref === undefined ? null : JSON.stringify(ref), acks: sent });
        // With its type last, and with white space, it is walked.
        const { acks: entries, ...rest } = members;
        expect(readFrame(JSON.stringify({ acks: entries, ...rest }), "q")).toEqual(read);
        expect(readFrame(JSON.stringify(members, null, 1), "q")).toEqual(read);
        // As is a large one.
        expect(readFrame(JSON.stringify({ ...members, more: "x".repeat(40_000) }), "q")).toEqual(read);
      }),
    );
  });

  it("acks a batch as a whole", () => {
    expect(readFrame('{"type":"ack","batch":7}', "q")).toEqual({ type: "ack-batch", ref: null, batch: 7 });
    expect(readFrame('{"batch":7,"type":"ack","ref":"a"}', "q")).toEqual({ type: "ack-batch", ref: '"a"', batch: 7 });
  });

  it("of repeated keys means the last", () => {
    expect(readFrame('{"type":"ack","batch":1,"batch":2}', "q")).toMatchObject({ batch: 2 });
    expect(readFrame('{"type":"ack","batch":1,"type":"push","messages":[{"payload":1}]}', "q")).toMatchObject({
      type: "push",
    });
  });

  it.each([
    ['{"type":"ack"}', /an ack names either acks or a batch/],
    [JSON.stringify({ type: "ack", acks, batch: 1 }), /an ack names either acks or a batch/],
    ['{"type":"ack","batch":0}', /batch must be/],
    ['{"type":"ack","batch":"1"}', /batch must be a whole number|batch must be a number/],
    ['{"type":"ack","batch":1.5}', /batch/],
    ['{"type":"ack","acks":[{"id":7}]}', /acks\[0\]\.id must be a string/],
    ['{"type":"ack","acks":{}}', /acks must be an array/],
    ['{"type":"ack","acks":[}', /not JSON: expected a value at character 22/],
    [`{"type":"ack","acks":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, /at most 64 levels of nesting/],
    ['{"type":"ack","ref":{},"batch":1}', /ref must be a string or a number/],
    [JSON.stringify({ ref: "x".repeat(200), type: "ack", batch: 1 }), /ref must be .* at most 128 characters/],
    ['{"type":"nack"}', /type must be "ack" or "push", not "nack"/],
    ["[]", /not JSON|must be/],
    ["", /not JSON/],
  ])("that is none is refused: %.60s", (text, problem) => {
    expect(() => readFrame(text, "q")).toThrow(problem);
  });
});
