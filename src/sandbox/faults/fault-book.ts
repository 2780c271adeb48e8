import { pathMatcher, RuleBook } from '../../model/rule-book.ts';
import type { SandboxRandom } from '../world-ports.ts';

import type { FaultRule } from './fault-rule.ts';

/** What a rule looks at. */
export interface FaultSubject {
  readonly method: string;
  readonly path: string;
  readonly app: string | undefined;
  /** Whether rules without a path are for it: APIs and echo yes, token endpoints and health no. */
  readonly isBusiness: boolean;
}

/** Decides once per request which fault it meets. */
export class FaultBook extends RuleBook<FaultRule, FaultSubject> {
  constructor(random: SandboxRandom) {
    super(random, matcherOf);
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
