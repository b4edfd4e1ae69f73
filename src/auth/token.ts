/** `waggle-mq/token`: what mints tokens offline, for whoever holds the keys. Not for browsers: the keys are secret. */
export { mintToken } from "./mint.ts";
export { parseKeys, type Keys } from "./keys.ts";
export type { Claims, DurableClaim, EphemeralClaim } from "../contract/rights.ts";
