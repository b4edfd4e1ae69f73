/** Base64 of bytes, and its URL form for texts. */

export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  // `apply` puts every byte on the stack: a piece at a time.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** null = not base64. */
export function decodeBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

export function encodeBase64Url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Throws when it is none. */
export function decodeBase64Url(text: string): string {
  const bytes = decodeBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  if (bytes === null) throw new TypeError("not base64url");
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}
