import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, it, vi } from 'vitest';

import type { InjectedFault } from '../../../../src/model/injected-fault.ts';
import { noMetrics } from '../../../../src/ports/metrics.ts';
import { Faults } from '../../../../src/runtime/chaos/fault-desk.ts';
import { noLogger } from '../../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

const folder = mkdtempSync(join(tmpdir(), 'larkspur-rule-counts-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('faults that are to come so many times come no more often because others join or go', async () => {
  const faultsFile = join(folder, 'faults.yaml');
  writeFileSync(faultsFile, 'rules: [{ kind: reset, match: { upstream: news, times: 1 } }]');
  const time = new VirtualTime();
  const parts = { clock: time, timers: time, random: seededRandom(1), log: noLogger, metrics: noMetrics };
  const faults = new Faults({ injectFaults: true, faultsFile }, parts);
  await vi.waitFor(() => expect(faults.show().rules).toHaveLength(1));
  const met = () => faults.decide({ upstream: 'news', host: 'news.example', method: 'GET', path: '/' })?.kind;
  expect([met(), met()]).toEqual(['reset', undefined]);
  const ordered: InjectedFault = { kind: '503', match: { upstream: 'news', times: 2 } };
  faults.order([ordered], 'ana', 60_000);
  expect(met()).toBe('503');
  // Another phase of the same scenario: a rule that was there before has come once.
  faults.order([ordered, { kind: '429', match: { upstream: 'weather' } }], 'ana', 60_000);
  expect([met(), met()]).toEqual(['503', undefined]);
  time.advance(60_000);
  expect(met()).toBeUndefined();
  await faults.stop();
});

it('rules come over HTTP anew with each phase of a run, and go on counting; the same order once more begins anew', async () => {
  const time = new VirtualTime();
  const parts = { clock: time, timers: time, random: seededRandom(1), log: noLogger, metrics: noMetrics };
  const faults = new Faults({ injectFaults: true, faultsFile: undefined }, parts);
  const met = () => faults.decide({ upstream: 'news', host: 'news.example', method: 'GET', path: '/' })?.kind;
  const once = (): InjectedFault => ({ kind: '503', match: { upstream: 'news', times: 1 } });
  const other: InjectedFault = { kind: '429', match: { upstream: 'weather' } };
  faults.order([once(), once()], 'run-1 ana', 60_000);
  expect(met()).toBe('503');
  faults.order([other, once(), once()], 'run-1 ana', 60_000);
  expect([met(), met()]).toEqual(['503', undefined]);
  faults.order([other, once(), once()], 'run-1 ana', 60_000);
  expect([met(), met(), met()]).toEqual(['503', '503', undefined]);
  faults.order([once()], 'ben', 60_000);
  expect([met(), met()]).toEqual(['503', undefined]);
  await faults.stop();
});
