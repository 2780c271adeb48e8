import { isDeepStrictEqual } from 'node:util';

import type { MeasureOptions } from '../operators/playbook/measure.ts';
import type { TriggerOptions } from '../operators/playbook/trigger.ts';

import { detailedCheck } from './check.ts';
import { readFaultRules } from './fault-rules.ts';
import { type Env, interpolate } from './interpolate.ts';
import { type Mistake, mistakeText } from './mistake.ts';
import { hotPaths, isHot } from './overlay.ts';
import { defaultClear, rangeOf } from './playbook-range.ts';
import { stepWords } from './playbook-words.ts';
import { playbookActions, playbookSchema, type RawPlaybook } from './schema-playbook.ts';
import type { Path } from './tree.ts';
import { placeIn, readYaml } from './yaml-source.ts';

/** One step of a playbook. Exactly one of the actions is there. */
export type PlaybookStep = RawPlaybook['then'][number] & {
  readonly dryRun: boolean;
  /** What it does, in words without what variables hold. */
  readonly says: string;
  /** Whether a variable stands in it: what others say of it may repeat what that holds. */
  readonly filled: boolean;
};

/** When something is so for a time, then some steps; when it is over they are undone. */
export interface Playbook {
  readonly name: string;
  readonly about: string | undefined;
  readonly file: string;
  readonly measure: MeasureOptions;
  readonly trigger: TriggerOptions;
  /** The condition in words. */
  readonly condition: string;
  readonly steps: readonly PlaybookStep[];
  readonly undo: boolean;
}

type Labels = MeasureOptions['where'];

const defaults = { forMs: 0, overMs: 60_000, coolDownMs: 600_000, clearForMs: 60_000, atLeast: 1, mostMs: 300_000 };

const check = detailedCheck(playbookSchema);

/** A playbook that was read, or every mistake in its file as a line with its place. */
export type ReadPlaybook =
  | { readonly playbook: Playbook; readonly lines?: never }
  | { readonly playbook?: never; readonly lines: readonly string[] };

/** Reads the text of a playbook. @param readFile gives the text of a file that a variable names */
export function readPlaybook(text: string, file: string, env: Env, readFile: (path: string) => string): ReadPlaybook {
  const source = readYaml(text, file);
  if (source.mistakes.length > 0) return { lines: source.mistakes.map((mistake) => mistakeText(mistake)) };
  const { value, mistakes } = interpolate(source.value ?? {}, env, readFile);
  const misshapen = check(value);
  const all = [...mistakes, ...(misshapen.length > 0 ? misshapen : ruleMistakes(value as RawPlaybook))];
  // The same but for what variables hold: only within texts is anything filled in.
  if (all.length === 0) return { playbook: compile(value as RawPlaybook, source.value as RawPlaybook, file) };
  return { lines: all.map((mistake) => mistakeText(mistake, placeIn(file, source, mistake.path) ?? file)) };
}

function ruleMistakes({ when, then }: RawPlaybook): Mistake[] {
  const mistakes: Mistake[] = [];
  const report = (path: Path, message: string): void => void mistakes.push({ path, message });
  const { metric, event, above, below, clear } = when;
  if ((metric === undefined) === (event === undefined)) report(['when'], 'must have one of metric and event');
  if (metric !== undefined && (above === undefined) === (below === undefined)) {
    report(['when'], 'must have one of above and below');
  }
  if (event !== undefined && (above ?? below ?? clear) !== undefined) {
    report(['when', 'event'], 'takes no above, below or clear');
  }
  if (clear !== undefined && above !== undefined && clear > above) {
    report(['when', 'clear'], `is ${clear}, must not be above when.above (${above})`);
  }
  if (clear !== undefined && below !== undefined && clear < below) {
    report(['when', 'clear'], `is ${clear}, must not be below when.below (${below})`);
  }
  const { least, most } = rangeOf(metric ?? '', wordsOf(when.of));
  if (clear !== undefined && (above === undefined ? clear > most : clear < least)) {
    report(['when', 'clear'], `is ${clear}, which is never reached: ${metric} is from ${least} to ${most}`);
  }
  if (event === 'redis-away' && when.upstream !== undefined)
    report(['when', 'upstream'], 'has no meaning for redis-away');
  for (const [index, step] of then.entries()) {
    const at: Path = ['then', index];
    const named = playbookActions.filter((action) => step[action] !== undefined);
    if (named.length !== 1) {
      report(at, `does ${named.join(' and ') || 'nothing'}, must have one of ${playbookActions.join(', ')}`);
    }
    const { alert, scale } = step;
    if (alert !== undefined && (alert.feishu === undefined) === (alert.http === undefined)) {
      report([...at, 'alert'], 'must have one of feishu and http');
    }
    for (const path of Object.keys(step.config ?? {})) {
      if (!isHot(path)) report([...at, 'config', path], `takes no effect without a restart; allowed: ${hotPaths}`);
    }
    for (const message of step.disturb === undefined ? [] : (readFaultRules(step.disturb.rules).mistakes ?? [])) {
      report([...at, 'disturb'], message);
    }
    if (scale !== undefined && (scale.deployment === undefined) === (scale.command === undefined)) {
      report([...at, 'scale'], 'must have one of deployment and command');
    }
  }
  return mistakes;
}

// What an event is, in the metrics: it is there as long as that has grown, or is above 0.
const events: Readonly<Record<string, { readonly metric: string; readonly where: Labels }>> = {
  'breaker-opened': { metric: 'larkspur_breaker_changes_total', where: { to: 'open' } },
  'redis-away': { metric: 'larkspur_redis_degraded', where: {} },
  'slo-burning': { metric: 'larkspur_slo_burning', where: {} },
  'dead-letter': { metric: 'larkspur_records_ended_total', where: { ending: 'dead-letter' } },
};

function compile(raw: RawPlaybook, written: RawPlaybook, file: string): Playbook {
  const { when, then, coolDownMs = defaults.coolDownMs } = raw;
  const event = when.event === undefined ? undefined : events[when.event];
  const metric = event?.metric ?? when.metric ?? '';
  const { above = event === undefined ? undefined : 0, below } = when;
  const forMs = when.forMs ?? defaults.forMs;
  const ofUpstream: Labels =
    when.upstream === undefined
      ? {}
      : when.event === 'slo-burning'
        ? { slo: `upstream/${when.upstream}` }
        : { upstream: when.upstream };
  const of = wordsOf(when.of);
  return {
    ...{ name: raw.name, about: raw.about, file, undo: raw.undo ?? true },
    measure: {
      ...{ metric, of, where: { ...event?.where, ...ofUpstream, ...when.where } },
      overMs: when.overMs ?? (event === undefined ? defaults.overMs : 10_000),
      atLeast: when.atLeast ?? defaults.atLeast,
      worst: below === undefined ? 'max' : 'min',
    },
    trigger: {
      ...{ above, below, forMs, coolDownMs },
      clear: when.clear ?? defaultClear({ above, below }, rangeOf(metric, of)),
      clearForMs: when.clearForMs ?? defaults.clearForMs,
      // An upstream that gets no calls cannot show that it is well again: it is let go to be seen.
      mostMs:
        raw.mostMs ??
        (then.some(({ isolate, pause }) => (isolate ?? pause) !== undefined) ? defaults.mostMs : Infinity),
    },
    condition: conditionOf(when, of, forMs),
    // Hurting on purpose must be said twice: that it may, and that this is no rehearsal.
    steps: then.map((step, index) => ({
      ...step,
      dryRun: raw.dryRun === true || (step.dryRun ?? step.disturb !== undefined),
      says: stepWords(written.then[index] ?? {}),
      filled: !isDeepStrictEqual(step, written.then[index]),
    })),
  };
}

function wordsOf(of: RawPlaybook['when']['of'] = []): readonly string[] {
  return typeof of === 'string' ? [of] : of;
}

function conditionOf(when: RawPlaybook['when'], of: readonly string[], forMs: number): string {
  const labels = { ...(when.upstream === undefined ? {} : { upstream: when.upstream }), ...when.where };
  const where = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  const what = [when.event ?? when.metric ?? '', ...(of.length === 0 ? [] : ['of', of.join(' + ')])].join(' ');
  const bound = when.above !== undefined ? ` > ${when.above}` : when.below !== undefined ? ` < ${when.below}` : '';
  return `${what}${where.length === 0 ? '' : ` {${where.join(', ')}}`}${bound}${forMs === 0 ? '' : ` for ${forMs / 1_000} s`}`;
}

/** What a playbook names and the configuration does not have, as lines. */
export function strangersIn({ file, steps, measure }: Playbook, upstreams: ReadonlySet<string>): string[] {
  const named = steps.flatMap(({ isolate, pause }, index) =>
    [isolate, pause].flatMap((name) =>
      name === undefined || upstreams.has(name) ? [] : [`then[${index}] names ${name}`],
    ),
  );
  const watched = measure.where['upstream'];
  if (watched !== undefined && !upstreams.has(watched)) named.unshift(`when names ${watched}`);
  return named.map((text) => `${file}: ${text}, which is no upstream`);
}
