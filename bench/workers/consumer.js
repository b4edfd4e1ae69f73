import { answer, handle } from "./ledger.js";

/** A consumer as it is written for Cloudflare Queues. */
export default { queue: handle, fetch: answer };
