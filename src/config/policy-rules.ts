import { breakerRules } from './breaker-rules.ts';
import { notAbove, type Report } from './not-above.ts';
import type { RawUpstream } from './schema-upstream.ts';
import type { Path } from './tree.ts';

/** Rules between the numbers of an upstream, or of a group of its APIs. @param ownBreaker as it is written there */
export function policyRules(at: Path, upstream: RawUpstream, ownBreaker: RawUpstream['breaker'], report: Report): void {
  const name = at.join('.');
  const { concurrencyFloor, concurrency } = upstream;
  notAbove(report, [...at, 'concurrencyFloor'], concurrencyFloor, `${name}.concurrency`, concurrency);
  const { connectMs, attemptMs, totalMs } = upstream.timeouts ?? {};
  notAbove(report, [...at, 'timeouts', 'connectMs'], connectMs, `${name}.timeouts.attemptMs`, attemptMs);
  notAbove(report, [...at, 'timeouts', 'attemptMs'], attemptMs, `${name}.timeouts.totalMs`, totalMs);
  const { retry, breaker, fallback } = upstream;
  if (typeof retry === 'object') {
    notAbove(report, [...at, 'retry', 'baseMs'], retry.baseMs, `${name}.retry.capMs`, retry.capMs);
    notAbove(report, [...at, 'retry', 'floorMs'], retry.floorMs, `${name}.retry.capMs`, retry.capMs);
    notAbove(
      report,
      [...at, 'retry', 'attemptsInARow'],
      retry.attemptsInARow,
      `${name}.retry.maxAttempts`,
      retry.maxAttempts,
    );
    notAbove(
      report,
      [...at, 'retry', 'budget', 'start'],
      retry.budget?.start,
      `${name}.retry.budget.cap`,
      retry.budget?.cap,
    );
    if (typeof fallback === 'object') {
      const after = fallback.afterAttempts;
      notAbove(report, [...at, 'fallback', 'afterAttempts'], after, `${name}.retry.maxAttempts`, retry.maxAttempts);
    }
  }
  if (typeof breaker === 'object') {
    const b: Path = [...at, 'breaker'];
    notAbove(report, [...b, 'coolDownMs'], breaker.coolDownMs, `${name}.breaker.maxOpenMs`, breaker.maxOpenMs);
    notAbove(report, [...b, 'successesInARow'], breaker.successesInARow, `${name}.breaker.probes`, breaker.probes);
    notAbove(
      report,
      [...b, 'failureRatio'],
      breaker.failureRatio,
      `${name}.breaker.adaptive.max`,
      breaker.adaptive?.max,
    );
    notAbove(report, [...at, 'timeouts', 'attemptMs'], attemptMs, `${name}.breaker.probeLeaseMs`, breaker.probeLeaseMs);
    breakerRules(b, breaker, report);
    if (typeof ownBreaker === 'object' && ownBreaker.probe !== undefined && upstream.profile !== 'feishu') {
      const without = ownBreaker.probe.path === undefined;
      if (without) report([...b, 'probe', 'path'], 'is missing: only Feishu has a token endpoint to ask instead');
    }
  }
}

/** Rules of the groups of an upstream's APIs. @param own as it is written */
export function groupRules(
  at: Path,
  { groups = {}, ...upstream }: RawUpstream,
  own: RawUpstream,
  report: Report,
): void {
  for (const [name, { paths, tier, ...policies }] of Object.entries(groups)) {
    const here: Path = [...at, 'groups', name];
    if (paths === undefined && tier === undefined) {
      report(here, 'must have paths or tier: which calls are of the group');
    }
    if (tier !== undefined && upstream.profile !== 'feishu') {
      report([...here, 'tier'], 'is only for profile feishu: of its APIs the tiers are known');
    }
    if (tier !== undefined && !limitKeys.has(keysOf(tier))) {
      report([...here, 'tier'], 'must be { perSecond }, { perMinute } or { limit, windowMs }');
    }
    if (upstream.breaker === 'off' && policies.breaker !== 'off') {
      report(
        [...here, 'breaker'],
        'has nothing to stand beside: the upstream has breaker off, give the group off, too',
      );
    }
    const ownBreaker = own.groups?.[name]?.breaker;
    if (typeof ownBreaker === 'object' && ownBreaker.probe !== undefined) {
      report([...here, 'breaker', 'probe'], `has no effect: ${at.join('.')}.breaker.probe asks for all of its groups`);
    }
    policyRules(here, { ...upstream, ...policies }, undefined, report);
  }
}

/** The ways to write a window. */
export const limitKeys: ReadonlySet<string> = new Set(['perSecond', 'perMinute', 'limit and windowMs']);

/** The keys of a window, in their order. */
export function keysOf(limit: object): string {
  return Object.keys(limit).sort().join(' and ');
}
