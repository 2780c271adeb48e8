import { afterAll, describe, expect, it } from 'vitest';

import { ConfigFiles } from '../../support/config-file.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

const withSlo = (slo: string): string =>
  `data: memory\nupstreams: { news: { baseUrl: http://news, slo: { ${slo} } } }\n`;
const ratesOf = (slo: string) => files.load(withSlo(slo)).config.slos[0]?.burnRates;

describe('the burn rates of a promise', () => {
  it('are by default such that a breach of everything exceeds them, however low the objective', () => {
    expect(ratesOf('objective: 0.999')).toEqual({ page: 14.4, ticket: 6 });
    expect(ratesOf('objective: 0.9')?.page).toBeCloseTo(9);
    expect(ratesOf('objective: 0.9')?.ticket).toBe(6);
    expect(ratesOf('objective: 0.5')?.page).toBeCloseTo(1.8);
    expect(ratesOf('objective: 0.5')?.ticket).toBeCloseTo(1.8);
  });

  it('cannot be above what is ever reached', () => {
    expect(files.mistakes(withSlo('objective: 0.9, burnRates: { page: 14.4 }'))).toEqual([
      expect.stringMatching(
        /burnRates\.page .*is 14\.4, which no burn rate exceeds: with objective 0\.9 it is at most 10/,
      ),
    ]);
    expect(files.mistakes(withSlo('objective: 0.9, burnRates: { page: 9.5 }'))).toEqual([]);
  });
});
