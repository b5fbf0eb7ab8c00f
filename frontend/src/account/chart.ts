// The geometry of the usage chart. Pure, so that it can be tested.

export type Bar = { x: number; width: number; height: number; value: number };

/** Bars side by side in a box, scaled to the highest; zero has no bar. */
export function bars(values: readonly number[], width: number, height: number, gap = 0.25): Bar[] {
  const most = Math.max(...values, 0);
  const step = width / Math.max(values.length, 1);
  return values.map((value, place) => ({
    x: place * step + (step * gap) / 2,
    width: step * (1 - gap),
    height: most > 0 ? (value / most) * height : 0,
    value,
  }));
}

/** A round number at or above the highest value, for the top of the scale. */
export function scaleTop(values: readonly number[]): number {
  const most = Math.max(...values, 0);
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((top) => top >= most)!;
}

/** Which days get a label: at most `most`, evenly spaced, always the last one. */
export function labelled(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / most));
  return Array.from({ length: count }, (_, place) => place).filter((place) => (count - 1 - place) % step === 0);
}
