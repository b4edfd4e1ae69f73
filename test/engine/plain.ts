/** A copy of plain data, as the runtime makes one of what goes to another object or to the disk. It takes nothing else. */
export function copyOf<T>(value: T): T {
  return copied(value) as T;
}

function copied(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`${typeof value} cannot be cloned`);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copied);
  const prototype: unknown = Object.getPrototypeOf(value);
  // Bytes and columns, and what does not occur.
  if (prototype !== Object.prototype) return structuredClone(value);
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = copied(item);
  return copy;
}
