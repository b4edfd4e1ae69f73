/** 96 random bits, in letters and digits. `randomUUID` exists in secure contexts only. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Different ids, of which all begin with the same random text. */
export function idsOf(prefix: string): () => string {
  let next = 0;
  return () => `${prefix}-${(next++).toString(36)}`;
}
