import type { SandboxRandom } from '../world-ports.ts';

import type { FaultKind, FaultRule } from './fault-rule.ts';

/** What a rule looks at. */
export interface FaultSubject {
  readonly method: string;
  readonly path: string;
  readonly app: string | undefined;
  /** Whether rules without a path are for it: APIs and echo yes, token endpoints and health no. */
  readonly isBusiness: boolean;
}

interface Armed {
  readonly rule: FaultRule;
  readonly fits: (subject: FaultSubject) => boolean;
  seen: number;
  done: number;
}

/**
 * Decides once per request which fault it meets. Rates share one random draw, so two rules of 5 % make exactly
 * 10 %, and no request meets two faults. The first rule that applies wins.
 */
export class FaultBook {
  readonly #random: SandboxRandom;
  #armed: Armed[] = [];
  readonly #counts = new Map<FaultKind, number>();

  constructor(random: SandboxRandom) {
    this.#random = random;
  }

  get rules(): readonly FaultRule[] {
    return this.#armed.map(({ rule }) => rule);
  }

  /** Faults played so far, per kind. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Replaces all rules; `times` and `everyNth` begin anew. */
  set(rules: readonly FaultRule[]): void {
    this.#armed = rules.map((rule) => ({ rule, fits: matcherOf(rule), seen: 0, done: 0 }));
  }

  clearCounts(): void {
    this.#counts.clear();
  }

  decide(subject: FaultSubject): FaultRule | undefined {
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

function matcherOf({ match }: FaultRule): (subject: FaultSubject) => boolean {
  const method = match?.method?.toUpperCase();
  const { app } = match ?? {};
  const fitsPath = match?.path === undefined ? undefined : pathMatcher(match.path);
  return (subject) =>
    (method === undefined || method === subject.method) &&
    (app === undefined || app === subject.app) &&
    (fitsPath === undefined ? subject.isBusiness : fitsPath(subject.path));
}

function pathMatcher(pattern: string): (path: string) => boolean {
  if (!pattern.includes('*')) return (path) => path.startsWith(pattern);
  const source = pattern
    .replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\*\*?/g, (stars) => (stars === '**' ? '.*' : '[^/]*'));
  const glob = new RegExp(`^${source}$`);
  return (path) => glob.test(path);
}
