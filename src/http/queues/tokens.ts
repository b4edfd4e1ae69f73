import { mintToken } from "../../auth/mint.ts";
import { mintBody } from "../../contract/claims.ts";
import { WaggleError } from "../../contract/errors.ts";
import { admin } from "../rules.ts";
import { readQueueBody, type QueueCall, type QueueRoute } from "./call.ts";
import { success } from "./envelope.ts";

/** Tokens for those who are to do some things and not others. */
export const tokenRoutes: QueueRoute[] = [["POST", "", admin("mint a token"), mint]];

async function mint({ request, broker }: QueueCall): Promise<Response> {
  const { claims, expiresInSeconds } = await readQueueBody(request, mintBody);
  const { auth, keys } = broker.config;
  // While everybody may do everything, everybody could take away a token that outlives that.
  if (auth === "off" || keys === null) {
    throw new WaggleError("auth_not_configured", 'tokens are minted only while the var AUTH is "required"');
  }
  const answer = success({ token: await mintToken(keys, claims, expiresInSeconds), expiresInSeconds });
  answer.headers.set("cache-control", "no-store");
  return answer;
}
