/** One side of a comparison: runs a short round and answers its figure. */
export type Round = () => Promise<number>;

/**
 * Runs the sides of a comparison in turn, round after round, and answers the median of each. A machine that is shared gets
 * slower and faster by the second; neighbours in time see the same of it. The first round only warms up, and every other
 * one runs backwards, so that no side is always the first.
 */
export async function interleave<const Sides extends readonly Round[]>(
  rounds: number,
  sides: Sides,
): Promise<{ [Side in keyof Sides]: number }> {
  const figures = sides.map((): number[] => []);
  const order = sides.map((_, side) => side);
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? order : order.toReversed()) {
      const figure = await sides[side]?.();
      if (round > 0 && figure !== undefined) figures[side]?.push(figure);
    }
  }
  return figures.map((side) => quantile(side, 0.5)) as { [Side in keyof Sides]: number };
}

/** The value below which a share of the samples lies. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? NaN;
  const above = sorted[Math.ceil(at)] ?? NaN;
  return below + (above - below) * (at - Math.floor(at));
}
