import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, expect, it, vi } from 'vitest';

import { serve, type Served } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { httpAsk } from '../../support/http-ask.ts';
import { reloads } from '../../support/reloading.ts';

const soon = { timeout: 30_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

const files = new ConfigFiles();
let served: Served;
let upstream: Server;
afterEach(async () => {
  await served.stop();
  upstream.close();
});
afterAll(() => files.remove());

// Few at once and patient, so that a busy machine alone makes no attempt fail.
const calmAt = (concurrency: number): string =>
  `concurrency: ${concurrency}, timeouts: { connectMs: 10000, attemptMs: 10000, totalMs: 30000 }`;

/** A process with two upstreams: one that answers as `status` says, one that is well. @param sick what is written of the first */
async function started(sick = '') {
  const state = { status: 503, seen: [] as string[], hanging: undefined as ServerResponse[] | undefined };
  upstream = createServer((request, response) => {
    state.seen.push(request.url ?? '');
    response.statusCode = (request.url ?? '').startsWith('/sick') ? state.status : 200;
    if (state.hanging === undefined) response.end('{}');
    else state.hanging.push(response);
  });
  await new Promise<void>((listening) => upstream.listen(0, '127.0.0.1', listening));
  const { port } = upstream.address() as AddressInfo;
  const write = (sick: string, concurrency = 8): string =>
    files.write(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams:
  sick: { baseUrl: 'http://127.0.0.1:${port}/sick', ${calmAt(concurrency)}${sick} }
  well: { baseUrl: 'http://127.0.0.1:${port}/well', ${calmAt(8)} }
`);
  const file = write(sick);
  const load = () => files.loadFile(file).config;
  served = await serve(load(), [], { worker: true, ingress: true }, { file, load });
  const ingress = Number(new URL(served.ingressUrl ?? '').port);
  const call = async (name: string, path: string): Promise<{ status: number; text: string }> =>
    httpAsk(ingress, '/v1/calls?wait=3s', {
      method: 'POST',
      body: JSON.stringify({ upstream: name, path, ttlMs: 2_500 }),
    });
  return { state, write, call };
}

it('S000-58: retry, breaker and fallback of one upstream are switched while it works; others keep their breaker as it is', async () => {
  const { state, write, call } = await started();
  const { destinations } = served.worker!.house;
  expect((await call('well', '/a')).status).toBe(200);
  const wellBreakers = destinations.get('well')?.breakers;
  const wellBreaker = [...(wellBreakers?.entries() ?? [])][0]?.[1];
  expect((await call('sick', '/a')).status).toBe(503);
  expect(state.seen.filter((url) => url === '/sick/a').length).toBeGreaterThan(1);

  write(', retry: off, breaker: off, fallback: { default: { later: true } }');
  await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(1), soon);
  const answer = await call('sick', '/b');
  expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
    200,
    { status: 'fallback', source: 'default', response: { body: { later: true } } },
  ]);
  expect(state.seen.filter((url) => url === '/sick/b')).toHaveLength(1);
  expect(destinations.get('sick')?.breakers).toBeUndefined();
  expect(destinations.get('well')?.breakers).toBe(wellBreakers);
  expect([...(wellBreakers?.entries() ?? [])][0]?.[1]).toBe(wellBreaker);
});

it('width, read cache and health check of an upstream are those of the changed file, and of that upstream alone', async () => {
  const { state, write, call } = await started();
  state.status = 200;
  const { destinations } = served.worker!.house;
  const [sick, well] = [destinations.get('sick')!, destinations.get('well')!];
  const widths = [sick.width, well.width];
  write(', concurrencyFloor: 8, cache: { ttlMs: 60000 }, health: { intervalMs: 60000 }');
  await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(1), soon);

  expect([sick.width === widths[0], well.width === widths[1]]).toEqual([false, true]);
  sick.width.timedOut(0, 1);
  expect(sick.slots.limit).toBe(8);
  await vi.waitFor(() => expect(sick.health?.last).toMatchObject({ state: 'healthy' }), soon);
  expect([await call('sick', '/a'), await call('sick', '/a'), await call('well', '/a')]).toMatchObject([
    { text: expect.stringContaining('"source":"live"') as string },
    { text: expect.stringContaining('"source":"cache"') as string },
    { text: expect.stringContaining('"source":"live"') as string },
  ]);
});

it('where concurrency is raised while every attempt hangs, those who wait for a slot and those in their lanes begin at once', async () => {
  const { state, write } = await started();
  state.status = 200;
  state.hanging = [];
  const { slots, working } = served.worker!.house.destinations.get('sick')!;
  for (let i = 0; i < 40; i++) {
    const value = Buffer.from(JSON.stringify({ id: `h-${i}`, upstream: 'sick', path: `/${i}` }));
    served.stores.sink.append({ topic: 'calls', key: null, value, headers: [] }).subscribe();
  }
  await vi.waitFor(() => expect([state.hanging?.length, slots.waiting, working.inUse]).toEqual([8, 4, 12]), soon);

  write('', 24);
  process.emit('SIGHUP');
  await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(1), soon);
  await vi.waitFor(() => expect(state.hanging).toHaveLength(24), { timeout: 5_000, interval: 20 });
  const { hanging } = state;
  state.hanging = undefined;
  for (const response of hanging) response.end('{}');
  await vi.waitFor(() => expect(served.worker!.worker.settled).toBe(40), soon);
});

it('the retry budget is that of the changed file, for an upstream and for a group of its APIs', async () => {
  const policies = ", breaker: off, groups: { g: { paths: ['/g*'], breaker: off } }";
  const { state, write, call } = await started(policies);
  const tried = async (path: string): Promise<number> => {
    await call('sick', path);
    return state.seen.filter((url) => url === `/sick${path}`).length;
  };
  const twice = async (suffix: string) => Promise.all([tried(`/${suffix}`), tried(`/g${suffix}`)]);
  expect((await twice('a')).every((times) => times > 1)).toBe(true);

  write(`${policies}, retry: { budget: { start: 0, perSuccess: 0 } }`);
  await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(1), soon);
  expect(await twice('b')).toEqual([1, 1]);
});

it('what a person holds open stays open when its policy changes', async () => {
  const { write } = await started();
  const { destinations } = served.worker!.house;
  destinations.get('sick')?.breakers?.forceAll('open', 0);
  write(', breaker: { consecutiveFailures: 3 }');
  await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(1), soon);

  expect(destinations.get('sick')?.breakers?.get('any').forced).toBe('open');
});

it('a file with a mistake changes nothing; SIGHUP has it looked at at once', async () => {
  const { write } = await started();
  const { destinations } = served.worker!.house;
  const before = { ...destinations.get('sick') };
  write(', retry: off, breaker: { failureRatio: 7 }');
  process.emit('SIGHUP');
  await vi.waitFor(async () => expect(await reloads(served, 'refused')).toBe(1), soon);

  expect({ ...destinations.get('sick') }).toEqual(before);
});

it('under load nothing is lost and nothing done twice, however often policies change', async () => {
  const { state, write } = await started();
  state.status = 200;
  const { house } = served.worker!;
  const results: unknown[] = [];
  const ids = Array.from({ length: 3_000 }, (_, i) => `c-${i}`);
  let written = 0;
  for (const [i, id] of ids.entries()) {
    const value = Buffer.from(JSON.stringify({ id, upstream: i % 2 === 0 ? 'sick' : 'well', path: `/${id}` }));
    served.stores.sink.append({ topic: 'calls', key: Buffer.from(id), value, headers: [] }).subscribe({
      next: () => written++,
      error: (error: unknown) => results.push(error),
    });
    if (i % 1_000 === 500) {
      write(i % 2_000 === 500 ? ', breaker: off, retry: { baseMs: 100 }' : ', breaker: { consecutiveFailures: 3 }');
      process.emit('SIGHUP');
      const changes = (i + 500) / 1_000;
      await vi.waitUntil(async () => (await reloads(served, 'applied')) === changes, soon);
    }
  }
  await vi.waitFor(() => expect(served.worker!.worker.settled).toBe(ids.length), soon);

  expect([written, results]).toEqual([ids.length, []]);
  expect(state.seen.map((url) => url.split('/')[2]).sort()).toEqual([...ids].sort());
  expect([...house.destinations.values()].map(({ slots }) => slots.inUse)).toEqual(
    [...house.destinations.values()].map(() => 0),
  );
});
