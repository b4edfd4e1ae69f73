/** Columns for people. Numbers stand to the right. */
export function table(heads: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const texts = [heads, ...rows].map((row) => row.map((cell) => shown(cell)));
  const widths = heads.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  const isNumber = heads.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === "number"));
  return texts
    .map((row) =>
      row
        .map((text, column) => {
          const width = widths[column] ?? 0;
          return isNumber[column] === true ? text.padStart(width) : text.padEnd(width);
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Pairs of a name and a value, one under the other. */
export function pairs(entries: Iterable<readonly [name: string, value: unknown]>): string {
  return table(["", ""], [...entries])
    .split("\n")
    .slice(1)
    .join("\n");
}

/** Control characters of a message do not reach the terminal. */
export function shown(value: unknown): string {
  const text =
    typeof value === "string" ? value : value === null || value === undefined ? "-" : (JSON.stringify(value) ?? "-");
  return text.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
}

const UNITS = ["B", "KB", "MB", "GB"] as const;

export function bytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}

export function age(seconds: number | null): string {
  if (seconds === null) return "-";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
