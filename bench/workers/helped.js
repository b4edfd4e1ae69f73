import { consumer } from "../../src/consumer/index.ts";
import { answer, handle } from "./ledger.js";

/** The same consumer with the helper around it. */
export default consumer({ queue: handle, fetch: answer });
