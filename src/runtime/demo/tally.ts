import type { Labels, Metrics } from '../../ports/metrics.ts';

/** Metrics that only count, for a process that shows its own figures and that nobody scrapes. */
export class Tally implements Metrics {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }[]>();

  counter(name: string): { add(labels: Labels, by?: number): void } {
    const cells = this.#counts.get(name) ?? [];
    this.#counts.set(name, cells);
    return {
      add: (labels, by = 1) => {
        const cell = cells.find((known) => Object.entries(labels).every(([key, value]) => known.labels[key] === value));
        if (cell === undefined) cells.push({ labels, value: by });
        else cell.value += by;
      },
    };
  }

  histogram(): { observe(): void } {
    return { observe: () => undefined };
  }

  gauge(): void {
    // Nobody reads gauges here: the live view looks at the parts themselves.
  }

  /** Sum of a counter over all label sets that hold the given ones. */
  sum(name: string, labels: Labels = {}): number {
    const wanted = Object.entries(labels);
    return (this.#counts.get(name) ?? [])
      .filter((cell) => wanted.every(([key, value]) => cell.labels[key] === value))
      .reduce((total, { value }) => total + value, 0);
  }
}
