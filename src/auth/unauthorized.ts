import { WaggleError } from "../contract/errors.ts";

/** A request whose token is missing, or good for nothing. */
export class Unauthorized extends WaggleError {
  override name = "Unauthorized";
  /** The answer's `WWW-Authenticate`: RFC 6750 has no error code where there was no token. */
  readonly challenge: string;

  constructor(problem: string, isMissing = false) {
    super("unauthorized", problem);
    this.challenge = isMissing ? 'Bearer realm="waggle"' : 'Bearer realm="waggle", error="invalid_token"';
  }
}
