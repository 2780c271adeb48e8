import { describe, expect, it } from 'vitest';

import { createMetrics } from '../../../../src/adapters/prometheus/metrics.ts';
import { sloDefaults } from '../../../../src/operators/slo/slo-tracker.ts';
import { Slos } from '../../../../src/runtime/stability/slos.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const promise = (name: string, objective = 0.9) => ({
  ...{ name, objective, windowMs: sloDefaults.windowMs, burnRates: sloDefaults.burnRates, latencyMs: undefined },
});

describe('promises', () => {
  it('S000-83: of routes count the events that became something, and those that did not', () => {
    const slos = new Slos({ clock: new VirtualTime(), metrics: createMetrics() }, [promise('route/approvals')]);
    for (let i = 0; i < 19; i++) slos.routed('approvals', true);
    slos.routed('approvals', false);
    slos.routed('another', false);
    expect(slos.view()).toMatchObject([{ name: 'route/approvals', good: 19, bad: 1, measured: 0.95 }]);
    expect(slos.view()[0]?.budgetLeft).toBeCloseTo(0.5);
  });

  it('stand in the metrics from the start, so that the first failure is growth', async () => {
    const metrics = createMetrics({ processMetrics: false });
    const slos = new Slos({ clock: new VirtualTime(), metrics }, [promise('route/a')]);
    expect(await metrics.text()).toMatch(/larkspur_slo_events_total\{slo="route\/a",verdict="bad"\} 0/);
    for (let i = 0; i < 5; i++) slos.routed('a', false);
    const page = await metrics.text();
    for (const line of [
      'larkspur_slo_events_total{slo="route/a",verdict="bad"} 5',
      'larkspur_slo_objective_ratio{slo="route/a"} 0.9',
      'larkspur_slo_burn_limit{slo="route/a",severity="page"} 14.4',
      'larkspur_slo_burning{slo="route/a",severity="ticket"} 1',
    ])
      expect(page).toContain(line);
    expect(page).toMatch(/larkspur_slo_budget_left_ratio\{slo="route\/a"\} -9/);
  });

  it('that stay as they were keep what was counted when others change; the one with the least left comes first', () => {
    const slos = new Slos({ clock: new VirtualTime(), metrics: createMetrics() }, [
      promise('route/a'),
      promise('route/b'),
    ]);
    slos.routed('a', true);
    slos.routed('b', false);
    expect(slos.view().map(({ name }) => name)).toEqual(['route/b', 'route/a']);
    slos.replace([promise('route/a'), promise('route/b', 0.5), promise('route/c')]);
    const counted = Object.fromEntries(slos.view().map(({ name, good, bad }) => [name, good + bad]));
    expect(counted).toEqual({ 'route/a': 1, 'route/b': 0, 'route/c': 0 });
  });
});
