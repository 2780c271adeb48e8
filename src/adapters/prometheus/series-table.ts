import type { Labels } from '../../ports/metrics.ts';

/** The label value that stands for all sets beyond the cap. */
const overflowValue = 'other';

class Branch<Cell> {
  readonly children = new Map<string, Branch<Cell>>();
  cell: Cell | undefined;
}

/** How a {@link SeriesTable} makes its cells and tells that it is full. */
export interface SeriesTableOptions<Cell> {
  readonly labelNames: readonly string[];
  /** Label sets kept apart, 1 or more; the overflow set comes on top. */
  readonly maxSeries: number;
  readonly create: (labels: Labels) => Cell;
  /** Called for every sample that lands in the overflow set. */
  readonly onOverflow: () => void;
}

/**
 * Finds the cell of a label set: one map look-up per label, on strings whose hash the engine keeps, so nothing is
 * joined or allocated on the hot path. Sets beyond the cap share one cell with the value `other` under every label: a
 * mistake in a label costs detail, never memory.
 */
export class SeriesTable<Cell> {
  readonly #options: SeriesTableOptions<Cell>;
  readonly #root = new Branch<Cell>();
  readonly #cells: Cell[] = [];
  #overflow: Cell | undefined;

  constructor(options: SeriesTableOptions<Cell>) {
    this.#options = options;
  }

  /** The cell of a label set. Labels that are missing count as `''`, unknown ones are ignored. */
  cellOf(labels: Labels): Cell {
    let branch: Branch<Cell> | undefined = this.#root;
    for (const name of this.#options.labelNames) {
      branch = branch.children.get(labels[name] ?? '');
      if (branch === undefined) return this.#add(labels);
    }
    return branch.cell ?? this.#add(labels);
  }

  /** All cells, the overflow cell last. */
  cells(): readonly Cell[] {
    return this.#overflow === undefined ? this.#cells : [...this.#cells, this.#overflow];
  }

  #add(labels: Labels): Cell {
    const { labelNames, maxSeries, create, onOverflow } = this.#options;
    if (this.#cells.length >= maxSeries) {
      onOverflow();
      return (this.#overflow ??= create(Object.fromEntries(labelNames.map((name) => [name, overflowValue]))));
    }
    let branch = this.#root;
    for (const name of labelNames) {
      const value = labels[name] ?? '';
      let next = branch.children.get(value);
      if (next === undefined) branch.children.set(value, (next = new Branch<Cell>()));
      branch = next;
    }
    const cell = create(Object.fromEntries(labelNames.map((name) => [name, labels[name] ?? ''])));
    branch.cell = cell;
    this.#cells.push(cell);
    return cell;
  }
}
