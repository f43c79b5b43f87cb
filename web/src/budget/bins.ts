// Rounds as bars: one each as long as there is room, else several to a bar, which is as high as the fullest of them. Pure.

import type { RoundBudget } from "../lib/types";

export interface Bin {
  first: number;
  last: number;
  /** The one with the most tokens. */
  top: RoundBudget;
  cut: boolean;
  full: boolean;
}

/** The round that took most of its window, or where no window is known, the most tokens. */
export const fullest = (rounds: RoundBudget[]) => rounds.reduce((most, one) => (fill(one) > fill(most) ? one : most));
const fill = (one: RoundBudget) => (one.share ?? 0) * 1e9 + one.window;

export function binsOf(rounds: RoundBudget[], most: number): Bin[] {
  const size = Math.max(1, Math.ceil(rounds.length / Math.max(1, most)));
  return Array.from({ length: Math.ceil(rounds.length / size) }, (_, at) => binOf(rounds.slice(at * size, (at + 1) * size)));
}

function binOf(rounds: RoundBudget[]): Bin {
  const top = rounds.reduce((most, one) => (one.window > most.window ? one : most));
  return { first: rounds[0]!.round, last: rounds.at(-1)!.round, top, cut: rounds.some((one) => one.compactions.length > 0), full: rounds.some((one) => one.full) };
}

/** Three to five round numbers from zero up to a height. */
export function marksTo(height: number): number[] {
  const rough = height / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((one) => one >= rough)!;
  return Array.from({ length: Math.floor(height / step) + 1 }, (_, at) => at * step);
}
