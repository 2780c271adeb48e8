/** What every rule about requests has beside what it does. */
export interface ChosenByRule {
  /** Share of the fitting requests, 0 to 1; default 1. */
  readonly rate?: number;
  readonly match?: {
    /** Every nth fitting request, counted from 1. */
    readonly everyNth?: number;
    /** At most so many requests of this rule. */
    readonly times?: number;
  };
}

interface Armed<Rule, Subject> {
  readonly rule: Rule;
  readonly fits: (subject: Subject) => boolean;
  seen: number;
  done: number;
}

/**
 * Decides once per request which rule it meets. Rates share one random draw, so two rules of 5 % make exactly 10 %, and no
 * request meets two. The first rule that applies wins.
 */
export class RuleBook<Rule extends ChosenByRule & { readonly kind: string }, Subject> {
  readonly #random: { next(): number };
  readonly #fitting: (rule: Rule) => (subject: Subject) => boolean;
  #armed: Armed<Rule, Subject>[] = [];
  readonly #counts = new Map<string, number>();

  /** @param fitting made once per rule: whether a request is one of those that it is for */
  constructor(random: { next(): number }, fitting: (rule: Rule) => (subject: Subject) => boolean) {
    this.#random = random;
    this.#fitting = fitting;
  }

  get rules(): readonly Rule[] {
    return this.#armed.map(({ rule }) => rule);
  }

  /** Times that a rule was met, per kind. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Replaces all rules; `times` and `everyNth` begin anew. */
  set(rules: readonly Rule[]): void {
    this.#armed = rules.map((rule) => ({ rule, fits: this.#fitting(rule), seen: 0, done: 0 }));
  }

  /** Other rules join or go: those that stay, the very same objects, go on counting. */
  change(rules: readonly Rule[]): void {
    const before = new Map(this.#armed.map((armed) => [armed.rule, armed]));
    this.set(rules);
    this.#armed = this.#armed.map((armed) => before.get(armed.rule) ?? armed);
  }

  clearCounts(): void {
    this.#counts.clear();
  }

  decide(subject: Subject): Rule | undefined {
    if (this.#armed.length === 0) return undefined;
    let draw = this.#random.next();
    for (const armed of this.#armed) {
      const { rule } = armed;
      if (armed.done >= (rule.match?.times ?? Infinity) || !armed.fits(subject)) continue;
      armed.seen++;
      if (armed.seen % (rule.match?.everyNth ?? 1) !== 0) continue;
      const rate = rule.rate ?? 1;
      if (draw >= rate) {
        // What is left of [0, 1) belongs to the rules that follow.
        draw -= rate;
        continue;
      }
      armed.done++;
      this.#counts.set(rule.kind, (this.#counts.get(rule.kind) ?? 0) + 1);
      return rule;
    }
    return undefined;
  }
}

/** Whether a path begins with a pattern, or is it as a whole when it has a `*`: `*` stays within a segment, `**` does not. */
export function pathMatcher(pattern: string): (path: string) => boolean {
  if (!pattern.includes('*')) return (path) => path.startsWith(pattern);
  return globMatcher(pattern, '/');
}

/** Whether a text is a pattern, in which `*` stands for anything but `edge` and `**` for anything. */
export function globMatcher(pattern: string, edge: '/' | '.'): (text: string) => boolean {
  const source = pattern
    .replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\*\*?/g, (stars) => (stars === '**' ? '.*' : `[^${edge}]*`));
  const glob = new RegExp(`^${source}$`);
  return (text) => glob.test(text);
}
