import { call, dev } from "../run.ts";
import { buildPage, PAGE } from "./build.ts";

await buildPage();
// The broker itself, as `npm start` runs it, with the page as its static assets.
const broker = ["--config", "../../wrangler.toml", "--var", "AUTH:off", "--assets", PAGE];
dev(import.meta.dirname, broker, (url) =>
  // A window that went without a goodbye leaves a group behind, which must not pin what nobody reads.
  call("POST", `${url}/api/v1/ephemeral/configure`, {
    queue: "presence",
    options: { ttlSeconds: 6, groupIdleSeconds: 30, policy: "dropOldest" },
  }),
);
