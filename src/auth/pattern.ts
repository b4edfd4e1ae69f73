/** Whether a name is meant by a pattern of a claim: the name itself, or a start of it followed by `*`. */
export function matches(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
