import type { ChaosRun, RunsReport } from '../runtime/chaos/ledger.ts';

/** A run as lines for people: each bar, then what came of it. */
export function runLines({ hypothesis, bars, verdict, why, scenario, findings }: ChaosRun): string[] {
  const longest = Math.max(...bars.map(({ name }) => name.length), 0);
  const lines = bars.map(({ name, value, atLeast, atMost, pass }) => {
    const bound = atMost === undefined ? `at least ${atLeast ?? '?'}` : `at most ${atMost}`;
    return `  ${pass ? '✔' : '✘'} ${name.padEnd(longest)}  ${Number.isNaN(value) ? '-' : value}  (${bound})`;
  });
  return [
    hypothesis.trim(),
    ...lines,
    ...(findings.length === 0 ? [] : ['findings', ...findings.map((finding) => `  ${finding}`)]),
    `${scenario}: ${verdict}${why === undefined ? '' : `: ${why}`}`,
  ];
}

/** Many runs as lines for people. */
export function reportLines({ runs, findings, invariants }: RunsReport): string[] {
  if (runs.length === 0) return ['no runs'];
  return [
    'runs',
    ...runs.map(
      ({ startedAt, scenario, target, verdict, why, forced }) =>
        `  ${startedAt}  ${scenario.padEnd(24)} ${target.padEnd(7)}  ${verdict}${forced ? ' (forced)' : ''}${why === undefined ? '' : `: ${why}`}`,
    ),
    'findings',
    ...(findings.length === 0 ? ['  none'] : findings.map(({ run, finding }) => `  ${run}  ${finding}`)),
    'invariants',
    ...invariants.map(
      ({ name, runs: looked, broken }) =>
        `  ${broken === 0 ? '✔' : '✘'} ${name.padEnd(22)} broken in ${broken} of ${looked} runs`,
    ),
  ];
}
