import type { Bound } from '../../config/scenario.ts';
import type { FigureName } from '../../config/schema-scenario.ts';
import { atLeast, atMost, type Bar } from '../report.ts';

import type { Counts } from './counts.ts';

/** What was measured; what could not be is absent or NaN. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;

/** Figures out of what came since the begin: of the upstreams within the blast radius, and of all others. */
export function figuresOf(inside: Counts, outside: Counts): Figures {
  const { live, fallbacks, deadLetters, retries, breakerOpenings, faults } = inside;
  const ended = live + fallbacks + deadLetters;
  const ended2 = outside.live + outside.fallbacks + outside.deadLetters;
  return {
    ...{ deadLetters, retries, breakerOpenings, faults },
    answeredShare: (live + fallbacks) / ended,
    liveShare: live / ended,
    // Of the calls that had no live answer: without a single one nothing was shown.
    fallbackSuccess: fallbacks / (fallbacks + deadLetters),
    outsideAnsweredShare: (outside.live + outside.fallbacks) / ended2,
  };
}

/** A bound as a bar. What was not measured holds no bound. */
export function barsOf(bounds: readonly Bound[], figures: Figures): Bar[] {
  return bounds.flatMap(({ figure, least, most }) => {
    const value = rounded(figures[figure] ?? NaN);
    return [
      ...(least === undefined ? [] : [atLeast(figure, value, least)]),
      ...(most === undefined ? [] : [atMost(figure, value, most)]),
    ];
  });
}

/** The first bound that a figure does not keep, in words. What is not known yet breaks none. */
export function broken(bounds: readonly Bound[], figures: Figures): string | undefined {
  const bar = barsOf(bounds, figures).find(({ value, pass }) => !pass && !Number.isNaN(value));
  return bar === undefined ? undefined : barText(bar);
}

/** What a bar says that does not hold. */
export function barText({ name, value, atLeast: least, atMost: most }: Bar): string {
  if (Number.isNaN(value)) return `${name} could not be measured: nothing of the kind happened`;
  return `${name} was ${value}, not ${most === undefined ? `at least ${least ?? ''}` : `at most ${most}`}`;
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
