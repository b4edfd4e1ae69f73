import { expect, it } from "vitest";
import { call } from "./support.ts";

it("hands out what was pushed", async () => {
  const pushed = await call("/api/v1/ephemeral/push", {
    method: "POST",
    body: '{"queue":"q","messages":[{"payload":1.0}]}',
  });
  expect(pushed.status).toBe(201);
  const popped = await call("/api/v1/ephemeral/pop?queue=q");
  expect(await popped.text()).toMatch(
    /^\{"queue":"q","messages":\[\{"id":"e:[0-9a-f]+:Default:0","partition":"Default","attempts":1,"payload":1.0\}\]\}$/,
  );
});
