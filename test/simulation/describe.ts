import type { Plan } from './plan.ts';

/** A plan in lines for people. */
export function describePlan({ sizes, calls, cancels, faults }: Plan): string[] {
  return [
    `  sizes: ${words(sizes)}`,
    ...faults.map((fault) => `  fault: ${words(fault)}`),
    ...cancels.map((cancel) => `  cancel: ${words(cancel)}`),
    ...calls.map((call) => {
      const { id, atMs, kind, key, answers, ttlMs, retry, large } = call;
      const special = [
        ...(answers.length === 0 ? [] : [`answers ${answers.join(', ')}`]),
        ...(ttlMs === undefined ? [] : [`ttl ${Math.ceil(ttlMs)} ms`]),
        ...(retry ? [] : ['no retry']),
        ...(large ? ['large answer'] : []),
      ];
      return `  call:  ${id} ${kind} at ${Math.round(atMs)} ms, key ${key ?? '-'} ${special.join('; ')}`.trimEnd();
    }),
  ];
}

function words(of: object): string {
  return Object.entries(of)
    .map(([name, value]) => `${name} ${typeof value === 'number' ? Math.round(value * 10) / 10 : String(value)}`)
    .join(', ');
}
