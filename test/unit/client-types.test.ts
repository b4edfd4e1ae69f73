import { expectTypeOf, it } from "vitest";
import type * as client from "../../src/client/index.ts";
import type { DeclaredOptions } from "../../src/contract/options.ts";
import type { Outcome } from "../../src/engine/engine.ts";
import type { ListedQueue } from "../../src/listing.ts";
import type { Depth } from "../../src/objects/home.ts";
import type { AckStatus, EphemeralMessage, Settled } from "../../src/rpc/binding.ts";

it("the client, which imports nothing of the broker, says the same of what goes over the wire", () => {
  expectTypeOf<client.Depth>().toEqualTypeOf<Depth>();
  expectTypeOf<client.Outcome>().toEqualTypeOf<Outcome>();
  expectTypeOf<client.AckStatus>().toEqualTypeOf<AckStatus>();
  expectTypeOf<client.Settled>().toEqualTypeOf<Settled>();
  expectTypeOf<client.Message<number>>().toEqualTypeOf<EphemeralMessage<number>>();
  expectTypeOf<client.QueueOptions>().toExtend<DeclaredOptions>();
  expectTypeOf<keyof client.QueueOptions>().toEqualTypeOf<keyof DeclaredOptions>();
  expectTypeOf<ListedQueue>().toExtend<client.ListedQueue>();
  expectTypeOf<keyof client.ListedQueue>().toEqualTypeOf<keyof ListedQueue>();
});
