import { firstValueFrom, NEVER } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { SealedTickets } from '../../../../src/adapters/feishu/app-tickets.ts';
import { SecretBox } from '../../../../src/adapters/system/sealed-vault.ts';
import type { TokenNeed } from '../../../../src/ports/token-source.ts';

import { answered } from './answers.ts';
import { fleet, valueOf } from './shared-platform.ts';

const apps = [{ id: 'cli_a', secret: 'very-secret' }];
const need: TokenNeed = { app: 'cli_a', tenant: undefined, as: 'tenant' };
const tenantToken = (value: string, expire = 7_200) =>
  answered(200, { code: 0, msg: 'ok', tenant_access_token: value, expire });

describe('tokens of several processes on one store', () => {
  it('4 processes with 100 callers each ask the platform once', () => {
    const world = fleet(() => tenantToken('t-1'), apps);
    const processes = Array.from({ length: 4 }, world.process);
    const replies = processes.flatMap((tokens) => Array.from({ length: 100 }, () => world.get(tokens, need)));
    world.time.advance(1_000);

    expect(new Set(replies.map(valueOf))).toEqual(new Set(['t-1']));
    expect(replies).toHaveLength(400);
    expect(world.asked).toHaveLength(1);
  });

  it('a revoked token under 1,000 calls a second, at 4 processes, costs one refetch', () => {
    let current = 1;
    const world = fleet(() => tenantToken(`t-${current}`), apps);
    const processes = Array.from({ length: 4 }, world.process);
    for (const tokens of processes) world.get(tokens, need);
    world.time.advance(1_000);
    current = 2;
    let refused = 0;
    for (let ms = 0; ms < 3_000; ms++) {
      const tokens = processes[ms % 4]!;
      const [reply] = world.get(tokens, need);
      if (reply?.kind === 'token' && reply.token.value === 't-1') {
        refused++;
        tokens.reject(need, reply.token.version);
      }
      world.time.advance(1);
    }

    expect(refused).toBeGreaterThanOrEqual(4);
    expect(processes.map((tokens) => valueOf(world.get(tokens, need)))).toEqual(['t-2', 't-2', 't-2', 't-2']);
    expect(world.asked).toHaveLength(2);
  });

  it('F16: a platform that stands by the rejected token is asked once by all, and its token is served on', () => {
    const world = fleet(() => tenantToken('t-1'), apps);
    const processes = Array.from({ length: 4 }, world.process);
    for (const tokens of processes) world.get(tokens, need);
    world.time.advance(1_000);
    for (const tokens of processes) tokens.reject(need, 1);
    const again = processes.map((tokens) => world.get(tokens, need));
    world.time.advance(1_000);

    expect(again.map(valueOf)).toEqual(['t-1', 't-1', 't-1', 't-1']);
    expect(world.asked).toHaveLength(2);
  });

  it('a process that cannot read the store asks the platform itself, later', () => {
    const world = fleet(() => tenantToken('t-1'), apps);
    Object.assign(world.store.tokenClaims, { claim: () => NEVER });
    const replies = world.get(world.process(), need);
    world.time.advance(6_100);
    expect(valueOf(replies)).toBe('t-1');
  });

  it('while the platform is away all wait, and one of them asks at a time', () => {
    let away = true;
    const world = fleet(() => (away ? answered(503, 'down') : tenantToken('t-1')), apps);
    const processes = Array.from({ length: 4 }, world.process);
    for (let s = 0; s < 60; s++) {
      for (const tokens of processes) world.get(tokens, need);
      world.time.advance(1_000);
    }
    expect(world.asked.length).toBeLessThan(60);
    away = false;
    const replies = processes.map((tokens) => {
      world.time.advance(31_000);
      const got = world.get(tokens, need);
      world.time.advance(1_000);
      return valueOf(got);
    });
    expect(replies).toEqual(['t-1', 't-1', 't-1', 't-1']);
  });

  it('nothing readable stands in the store', async () => {
    const world = fleet(() => tenantToken('t-readable'), apps);
    world.get(world.process(), need);
    world.time.advance(1_000);
    const view = await firstValueFrom(world.store.tokenClaims.view('cli_a/tenant/first'));
    expect(view).toMatchObject({ kind: 'processed', result: expect.stringMatching(/^v1\./) as unknown });
    expect(JSON.stringify(view)).not.toContain('t-readable');
  });
});

describe('store apps', () => {
  const store = [{ id: 'cli_s', secret: 'very-secret', kind: 'store' as const }];
  const of = (tenant: string): TokenNeed => ({ app: 'cli_s', tenant, as: 'tenant' });

  it('wait for their ticket, which the platform is asked to send, and then get a token per tenant', () => {
    const world = fleet((path, { app_ticket, tenant_key }) => {
      if (path.endsWith('resend')) return answered(200, { code: 0 });
      return path.endsWith('app_access_token')
        ? answered(200, { code: 0, app_access_token: `a-${app_ticket}`, expire: 7_200 })
        : tenantToken(`t-${tenant_key}`);
    }, store);
    const tokens = world.process();
    const waiting = world.get(tokens, of('tk1'));
    world.time.advance(1_000);
    expect(waiting).toMatchObject([{ kind: 'unavailable' }]);
    expect(world.asked.map(({ path }) => path)).toEqual(['/open-apis/auth/v3/app_ticket/resend']);

    new SealedTickets(world.vault).keep('cli_s', 'ticket-1', 1).subscribe();
    world.time.advance(60_000);
    const got = ['tk1', 'tk2'].map((tenant) => world.get(tokens, of(tenant)));
    world.time.advance(60_000);
    const again = ['tk1', 'tk2'].map((tenant) => valueOf(world.get(tokens, of(tenant))));
    expect([got.length, again]).toEqual([2, ['t-tk1', 't-tk2']]);
    expect(world.asked.find(({ path }) => path.endsWith('/app_access_token'))?.body).toMatchObject({
      app_ticket: 'ticket-1',
    });
  });

  it.each([10_003, 10_014, 10_016])('whose credentials the platform refuses (code %i) wait for no ticket', (code) => {
    const world = fleet(() => answered(200, { code, msg: 'wrong very-secret' }), store);
    const replies = world.get(world.process(), of('tk1'));
    world.time.advance(1_000);

    expect(replies).toMatchObject([{ kind: 'refused', message: expect.stringContaining(`code ${code}`) as unknown }]);
    expect(JSON.stringify(replies)).not.toContain('very-secret');
  });

  it('wait for the platform, not for a ticket that nobody could ask for, where it is away', () => {
    const world = fleet(() => answered(503, 'down'), store);
    const replies = world.get(world.process(), of('tk1'));
    world.time.advance(1_000);

    expect(replies).toMatchObject([{ kind: 'unavailable', message: expect.stringContaining('HTTP 503') as unknown }]);
  });

  it('S000-02: 1,000 tenants keep fresh tokens through a day, none mixed up, with few questions', () => {
    let issued = 0;
    const lives = new Map<string, number>();
    const world = fleet((path, { tenant_key }) => {
      if (!path.endsWith('tenant_access_token'))
        return answered(200, { code: 0, app_access_token: 'a-1', expire: 7_200 });
      const value = `t-${tenant_key}-${issued++}`;
      lives.set(value, world.time.wall() + 7_200_000);
      return tenantToken(value);
    }, store);
    new SealedTickets(world.vault).keep('cli_s', 'ticket', 1).subscribe();
    const tokens = world.process();
    const tenants = Array.from({ length: 1_000 }, (_, n) => `tk${n}`);
    for (const tenant of tenants) world.get(tokens, of(tenant));
    world.time.advance(2_000);
    let stale = 0;
    let mixed = 0;
    for (let minute = 0; minute < 24 * 60; minute += 10) {
      for (const tenant of tenants) {
        const value = valueOf(world.get(tokens, of(tenant))) ?? '';
        if (!((lives.get(value) ?? 0) > world.time.wall())) stale++;
        if (!value.startsWith(`t-${tenant}-`)) mixed++;
      }
      world.time.advance(600_000);
    }

    expect([stale, mixed]).toEqual([0, 0]);
    // A token lives two hours and is renewed in its last half hour: about 16 a day.
    expect(issued / tenants.length).toBeLessThan(18);
  }, 60_000);

  it('without a ticket nobody is refused for good, and a call must name its tenant', () => {
    const world = fleet(() => answered(200, { code: 0 }), store);
    const tokens = world.process();
    expect(world.get(tokens, { app: 'cli_s', tenant: undefined, as: 'tenant' })).toMatchObject([
      { kind: 'refused', message: expect.stringContaining('name its tenant') as unknown },
    ]);
  });
});

describe('SecretBox', () => {
  it('opens what it sealed, at the same place, with the current key or the one before, and nothing else', () => {
    const old = new SecretBox(['a'.repeat(32)]);
    const box = new SecretBox(['b'.repeat(32), 'a'.repeat(32)]);
    const sealed = old.seal('secret 中文', 'user/1');

    expect(box.open(sealed, 'user/1')).toBe('secret 中文');
    expect(box.open(sealed, 'user/2')).toBeUndefined();
    expect(old.open(box.seal('x', 'p'), 'p')).toBeUndefined();
    const bytes = Buffer.from(sealed.slice(3), 'base64url');
    bytes.writeUInt8(bytes.readUInt8(30) ^ 1, 30);
    expect(box.open(`v1.${bytes.toString('base64url')}`, 'user/1')).toBeUndefined();
    for (const text of ['', 'v1.', 'v1.AAAA', 'plain']) expect(box.open(text, 'user/1')).toBeUndefined();
    expect(old.seal('x', 'p')).not.toBe(old.seal('x', 'p'));
  });
});
