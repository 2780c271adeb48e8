import type { InjectedFault } from '../model/injected-fault.ts';

import { detailedCheck } from './check.ts';
import { configInvalid, mistakeText } from './mistake.ts';
import { ruleOf, scenarioMistakes } from './scenario-rules.ts';
import { type FigureName, type RawScenario, scenarioDefaults, scenarioSchema } from './schema-scenario.ts';
import { placeIn, readYaml } from './yaml-source.ts';

/** A fault that holds for a part of a run. */
export interface TimedFault {
  readonly rule: InjectedFault;
  /** From the begin of the run. */
  readonly fromMs: number;
  /** `Infinity`: to the end. */
  readonly toMs: number;
}

/** What a figure must keep. */
export interface Bound {
  readonly figure: FigureName;
  readonly least: number | undefined;
  readonly most: number | undefined;
}

/** An experiment: what is believed, what goes wrong, and what would prove the belief wrong. */
export interface Scenario {
  readonly name: string;
  readonly hypothesis: string;
  readonly incident: string | undefined;
  readonly target: 'sandbox' | 'workers';
  readonly blastRadius: { readonly upstreams: readonly string[]; readonly share: number; readonly mostMs: number };
  readonly faults: readonly TimedFault[];
  readonly background: readonly TimedFault[];
  readonly durationMs: number;
  readonly load: { readonly calls: number; readonly perSecond: number; readonly keys: number };
  readonly upstreams: NonNullable<RawScenario['upstreams']>;
  readonly guard: { readonly minScore: number; readonly minBudget: number };
  /** Outside of one of these the faults end at once. */
  readonly abort: readonly Bound[];
  readonly expect: readonly Bound[];
}

const check = detailedCheck(scenarioSchema);

/** Reads the text of a scenario. @throws LarkspurError `config_invalid` with every mistake and its line */
export function readScenario(text: string, file: string): Scenario {
  const source = readYaml(text, file);
  const found = source.mistakes.length > 0 ? source.mistakes : check(source.value ?? {});
  const mistakes = [...found, ...(source.mistakes.length > 0 ? [] : scenarioMistakes(source.value, found))];
  if (mistakes.length === 0) return scenarioFrom(source.value as RawScenario);
  throw configInvalid(
    mistakes.map((mistake) => mistakeText(mistake, placeIn(file, source, mistake.path))),
    file,
    'correct the lines above',
  );
}

type RawBound = RawScenario['expect'][number] | NonNullable<RawScenario['abort']>[number];
type RawFault = RawScenario['faults'][number];

function scenarioFrom(raw: RawScenario): Scenario {
  const timed = (fault: RawFault, of: string | undefined): TimedFault => {
    const { afterMs = 0, forMs = Infinity } = fault;
    const rule = ruleOf(fault);
    const match = rule.match?.upstream === undefined && of !== undefined ? { ...rule.match, upstream: of } : rule.match;
    return { rule: match === undefined ? rule : { ...rule, match }, fromMs: afterMs, toMs: afterMs + forMs };
  };
  const { blastRadius } = raw;
  return {
    name: raw.name,
    hypothesis: raw.hypothesis,
    incident: raw.incident,
    target: raw.target ?? 'sandbox',
    blastRadius: { share: scenarioDefaults.share, mostMs: scenarioDefaults.mostMs, ...blastRadius },
    // A fault that names no upstream is for all of the radius, and for nothing else.
    faults: raw.faults.flatMap((fault) =>
      blastRadius.upstreams.flatMap((upstream) =>
        fault.match?.upstream === undefined || fault.match.upstream === upstream ? [timed(fault, upstream)] : [],
      ),
    ),
    background: (raw.background ?? []).map((fault) => timed(fault, undefined)),
    durationMs: raw.durationMs ?? scenarioDefaults.durationMs,
    load: { ...scenarioDefaults.load, ...raw.load },
    upstreams: raw.upstreams ?? {},
    guard: { ...scenarioDefaults.guard, ...raw.guard },
    abort: (raw.abort ?? []).map(boundOf),
    expect: raw.expect.map(boundOf),
  };
}

function boundOf({ figure, ...limits }: RawBound): Bound {
  const { atLeast, below, atMost, above } = limits as Readonly<Record<string, number | undefined>>;
  return { figure, least: atLeast ?? below, most: atMost ?? above };
}
