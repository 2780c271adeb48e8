import { NEVER } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { createMetrics } from '../../../src/adapters/prometheus/metrics.ts';

import { api } from './calls-world.ts';

describe('the doors for calls', () => {
  it('show how many calls are not yet durable', async () => {
    const metrics = createMetrics({ processMetrics: false });
    const world = api({ ack$: NEVER, metrics });
    world.post();
    world.post().subscription.unsubscribe();

    expect(await metrics.text()).toContain('larkspur_ingress_unstored_calls 2\n');
  });

  it('show how many clients wait for an answer', async () => {
    const metrics = createMetrics({ processMetrics: false });
    const world = api({ metrics });
    world.post({ path: '/x' }, { wait: '3s' });
    world.post({ path: '/x' }, { wait: '3s' }).subscription.unsubscribe();
    expect(await metrics.text()).toContain('larkspur_ingress_waiting_clients 1\n');
    world.time.advance(3_000);

    expect(await metrics.text()).toContain('larkspur_ingress_waiting_clients 0\n');
  });
});
