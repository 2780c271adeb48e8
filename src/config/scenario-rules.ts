import { type InjectedFault, waitMsOf } from '../model/injected-fault.ts';
import { isTree } from '../model/schema-words.ts';

import { complete } from './complete.ts';
import { parameterMistakes } from './fault-rules.ts';
import type { Mistake } from './mistake.ts';
import { ruleMistakes } from './rules.ts';
import { type FigureName, type RawScenario, scenarioDefaults } from './schema-scenario.ts';

type RawFault = RawScenario['faults'][number];
type RawBound = RawScenario['expect'][number] | NonNullable<RawScenario['abort']>[number];
type Report = (path: Mistake['path'], message: string) => void;

/** A fault without its times. */
export function ruleOf({ afterMs: _after, forMs: _for, ...rule }: RawFault): InjectedFault {
  return rule;
}

// From outside nobody knows what was handed in and what took effect.
const insideOnly = new Set<FigureName>(['lost', 'twice', 'outOfOrder', 'recoverMs']);
const endOnly = new Set<FigureName>(['lost', 'twice', 'outOfOrder', 'recoverMs', 'p50AddedMs', 'p99AddedMs']);

/** Rules between the values of a scenario, for all parts in which the schema found no mistake. */
export function scenarioMistakes(value: unknown, found: readonly Mistake[]): Mistake[] {
  if (!isTree(value)) return [];
  const isWrong = (...path: (string | number)[]): boolean =>
    found.some((mistake) => path.every((step, index) => mistake.path[index] === step));
  const entriesOf = <T>(key: string): (readonly [number, T])[] => {
    const list = value[key];
    return Array.isArray(list) ? [...(list as T[]).entries()].filter(([index]) => !isWrong(key, index)) : [];
  };
  const sound = <Key extends keyof RawScenario>(key: Key): RawScenario[Key] | undefined =>
    isWrong(key) ? undefined : (value[key] as RawScenario[Key]);
  const mistakes: Mistake[] = [];
  const report: Report = (path, message) => mistakes.push({ path, message });

  const target = sound('target') ?? 'sandbox';
  const faults = entriesOf<RawFault>('faults');
  for (const [key, of] of [['faults', faults] as const, ['background', entriesOf<RawFault>('background')] as const]) {
    for (const [index, fault] of of) mistakes.push(...parameterMistakes(ruleOf(fault), [key, index]));
  }
  for (const [index, one] of entriesOf<RawBound>('expect')) bound(one, ['expect', index], target, report);
  for (const [index, one] of entriesOf<RawBound>('abort')) bound(one, ['abort', index], target, report);
  const list = value['expect'];
  if (Array.isArray(list) && list.length === 0) report(['expect'], 'is empty: nothing could prove it wrong');
  const foreign = target === 'workers' ? ['load', 'upstreams', 'background'] : ['durationMs', 'guard'];
  for (const key of foreign) {
    if (value[key] !== undefined) report([key], `has no meaning with target ${target}`);
  }
  if (!isWrong('upstreams')) policies(sound('upstreams') ?? {}, report);
  const radius = sound('blastRadius');
  if (radius === undefined) return mistakes;
  const { upstreams: inside, share = scenarioDefaults.share, mostMs = scenarioDefaults.mostMs } = radius;
  const named = target === 'sandbox' ? sound('upstreams') : undefined;
  for (const [index, upstream] of inside.entries()) {
    if (target === 'workers' || upstream === 'feishu' || isWrong('upstreams') || named?.[upstream] !== undefined)
      continue;
    report(['blastRadius', 'upstreams', index], `is ${upstream}, which upstreams does not name`);
  }
  for (const [index, fault] of faults) {
    const { match } = fault;
    const hurt = shareOf(fault);
    const upstream = match?.upstream;
    if (upstream !== undefined && !inside.includes(upstream)) {
      report(
        ['faults', index, 'match', 'upstream'],
        `is ${upstream}, outside of the blast radius (${inside.join(', ')})`,
      );
    }
    const waitMs = waitMsOf(ruleOf(fault));
    const waitKey = fault.kind === '429' ? 'resetSeconds' : 'retryAfterSeconds';
    if (waitMs > mostMs)
      report(['faults', index, waitKey], `is ${waitMs / 1_000}, longer than blastRadius.mostMs, ${mostMs}`);
    // One refusal rests the bucket that all calls of all workers share.
    if (target === 'workers' && fault.kind === '429' && share < 1) {
      report(['faults', index, 'kind'], `is 429, which holds up all calls at workers; blastRadius.share is ${share}`);
    }
    if (hurt > share) report(['faults', index, 'rate'], `is ${hurt}, above blastRadius.share, ${share}`);
    else {
      const together = Math.max(...inside.map((name) => shareTogether(fault, name, faults)));
      // Decimal fractions do not add up exactly.
      if (together > share + 1e-9) {
        const sum = Math.round(together * 1e6) / 1e6;
        report(
          ['faults', index, 'rate'],
          `makes ${sum} with the others of its time, above blastRadius.share, ${share}`,
        );
      }
    }
  }
  const durationMs = sound('durationMs') ?? scenarioDefaults.durationMs;
  if (target === 'workers' && durationMs > mostMs) {
    report(['durationMs'], `is ${durationMs}, above blastRadius.mostMs, ${mostMs}`);
  }
  return mistakes;
}

/** The share of the fitting calls that a fault hurts. */
function shareOf({ rate = 1, match }: RawFault): number {
  return rate / (match?.everyNth ?? 1);
}

/** The share of the calls of an upstream that is hurt when a fault of it begins: rates of different faults add up. */
function shareTogether(fault: RawFault, upstream: string, faults: readonly (readonly [number, RawFault])[]): number {
  const { afterMs: beginMs = 0 } = fault;
  const isOf = ({ match }: RawFault): boolean => (match?.upstream ?? upstream) === upstream;
  if (!isOf(fault)) return 0;
  const active = faults.filter(
    ([, one]) => isOf(one) && (one.afterMs ?? 0) <= beginMs && beginMs < (one.afterMs ?? 0) + (one.forMs ?? Infinity),
  );
  return Math.min(
    1,
    active.reduce((sum, [, one]) => sum + shareOf(one), 0),
  );
}

function bound(one: RawBound, path: readonly [string, number], target: string, report: Report): void {
  const inExpect = path[0] === 'expect';
  const limits = inExpect ? ['atLeast', 'atMost'] : ['below', 'above'];
  const { figure } = one;
  if (!limits.some((name) => name in one)) report(path, `must have ${limits.join(' or ')}`);
  if (target === 'sandbox' ? figure === 'score' : insideOnly.has(figure)) {
    report([...path, 'figure'], `is ${figure}, which cannot be seen with target ${target}`);
  } else if (!inExpect && endOnly.has(figure)) {
    report([...path, 'figure'], `is ${figure}, which is known at the end only`);
  }
}

const decidedByTheRun = ['profile', 'baseUrl', 'targets', 'use'] as const;

/** What is wrong with upstreams, were they in a configuration. */
function policies(upstreams: NonNullable<RawScenario['upstreams']>, report: Report): void {
  for (const [name, raw] of Object.entries(upstreams)) {
    const given = decidedByTheRun.filter((key) => raw[key] !== undefined);
    for (const key of given) report(['upstreams', name, key], 'is not for a scenario: the sandbox stands in');
    if (given.length > 0) continue;
    const written = { upstreams: { [name]: { ...raw, baseUrl: 'http://sandbox' } } };
    for (const { path, message } of ruleMistakes(complete(written, () => 'scenario').value, written)) {
      if (path[0] === 'upstreams') report(path, message);
    }
  }
}
