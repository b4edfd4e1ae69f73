/** What a ratio is held against. A missed bar is marked and nothing more: machines differ, and so does their mood. */
export type Bar = { atLeast: number } | { atMost: number };

export interface Row {
  name: string;
  figure: number;
  /** What it is compared with; a row without one only tells. */
  reference?: number;
  unit: string;
  /** What the ratio is held against. */
  bar?: Bar;
  /** The most that the figure itself may be. */
  limit?: number;
  note?: string;
}

const WIDTHS = [58, 12, 12, 7, 9] as const;

export function printHead(): void {
  line(["", "waggle", "reference", "ratio", "bar"], "");
}

export function printRow({ name, figure, reference, unit, bar, limit, note = "" }: Row): void {
  const ratio = reference === undefined ? null : figure / reference;
  const missed = (ratio !== null && bar !== undefined && !holds(ratio, bar)) || (limit !== undefined && figure > limit);
  const cells = [
    name,
    `${number(figure)}`,
    reference === undefined ? "" : number(reference),
    ratio === null ? "" : ratio.toFixed(2),
    bar === undefined
      ? limit === undefined
        ? ""
        : `${limit}`
      : "atLeast" in bar
        ? `>= ${bar.atLeast}`
        : `<= ${bar.atMost}`,
  ];
  line(cells, `${unit}${note === "" ? "" : `; ${note}`}${missed ? "  MISSED" : ""}`);
}

function holds(ratio: number, bar: Bar): boolean {
  return "atLeast" in bar ? ratio >= bar.atLeast : ratio <= bar.atMost;
}

function line(cells: readonly string[], end: string): void {
  const padded = cells.map((cell, index) => (index === 0 ? cell.padEnd(WIDTHS[0]) : cell.padStart(WIDTHS[index] ?? 0)));
  console.log(`${padded.join(" ")}  ${end}`.trimEnd());
}

function number(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return value.toPrecision(3);
}
