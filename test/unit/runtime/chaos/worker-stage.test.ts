import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { readScenario } from '../../../../src/config/scenario.ts';
import { askAdmin } from '../../../../src/runtime/admin-client.ts';
import { WorkerStage } from '../../../../src/runtime/chaos/worker-stage.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const scenario = readScenario(
  `name: sick-news
hypothesis: it holds
target: workers
blastRadius: { upstreams: [news] }
faults: [{ kind: '503' }]
expect: [{ figure: deadLetters, atMost: 0 }]
`,
  'scenario',
);
const sick = { kind: '503' } as const;

/** An admin port that notes what is ordered. `status`: what it answers; 0: nothing at all. */
async function worker() {
  const state = {
    status: 200,
    rules: [] as unknown[],
    orderedBy: undefined as string | undefined,
    forMs: 0,
    orders: 0,
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (state.status === 0) return;
      if (request.method === 'PUT') state.orders++;
      if (request.method === 'PUT' && state.status === 200) {
        const { rules, by, forMs } = JSON.parse(String(Buffer.concat(chunks))) as {
          rules: unknown[];
          by: string;
          forMs: number;
        };
        Object.assign(state, { rules, forMs, orderedBy: rules.length === 0 ? undefined : by });
      }
      response.statusCode = state.status;
      const code = state.status === 403 ? 'forbidden' : 'internal';
      response.end(JSON.stringify(state.status === 200 ? { orderedBy: state.orderedBy } : { code }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { state, address: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: undefined } };
}

describe('faults at several workers', () => {
  it('are taken away from all others when one gives no heed, and the one is named with the time until when they hold', async () => {
    const [deaf, well] = [await worker(), await worker()];
    const stage = new WorkerStage(scenario, [deaf.address, well.address], new VirtualTime(), 'ana');
    await stage.start('run-1');
    await stage.setFaults([sick]);
    expect([deaf.state.rules, well.state.rules]).toEqual([[sick], [sick]]);

    deaf.state.status = 500;
    await expect(stage.setFaults([])).rejects.toThrow('HTTP 500');
    expect([deaf.state.rules, well.state.rules]).toEqual([[sick], []]);
    // 60 s of the scenario, and 30 s beyond.
    expect(await stage.close()).toEqual([
      `faults may still be on at ${deaf.address.url} until 2026-01-01T00:01:30.000Z`,
    ]);
    deaf.state.status = 200;
    expect(await stage.close()).toEqual([]);
    expect(deaf.state.rules).toEqual([]);
  });

  it('of a scenario that lasts a day are ordered for no longer than the door takes', async () => {
    const { state, address } = await worker();
    const stage = new WorkerStage({ ...scenario, durationMs: 86_400_000 }, [address], new VirtualTime(), 'ana');
    await stage.start('run-1');
    await stage.setFaults([sick]);
    // The door refuses more than a day.
    expect(state.forMs).toBe(86_400_000);
  });

  it('are theirs who ordered them meanwhile: those stay', async () => {
    const { state, address } = await worker();
    const stage = new WorkerStage(scenario, [address], new VirtualTime(), 'ana');
    await stage.start('run-1');
    await stage.setFaults([sick]);
    expect(state.orderedBy).toBe('run-1 ana');
    state.orderedBy = 'ben';
    expect([await stage.close(), state.rules]).toEqual([[], [sick]]);
  });

  it('are none where faults are off, or where nothing was ordered', async () => {
    const off = await worker();
    const stage = new WorkerStage(scenario, [off.address], new VirtualTime(), 'ana');
    await stage.start('run-1');
    expect([await stage.close(), off.state.orders]).toEqual([[], 0]);
    off.state.status = 403;
    await expect(stage.setFaults([sick])).rejects.toThrow();
    expect([await stage.close(), off.state.orders]).toEqual([[], 1]);
  });
});

it('who asks an admin port waits no longer than its patience', async () => {
  const { state, address } = await worker();
  state.status = 0;
  await expect(askAdmin({ ...address, patienceMs: 100 }, { path: '/admin/faults' })).rejects.toThrow(
    'no process answers at',
  );
});
