import { describe, expect, it } from 'vitest';

import type { Call } from '../../../../src/model/call.ts';
import type { CallPlan } from '../../../../src/ports/profile.ts';

import { oneApp, planned, send } from './answers.ts';

const record: Call = { path: '/open-apis/bitable/v1/apps/app1/tables/tbl1/records', body: { fields: {} } };

describe('feishuProfile, batching', () => {
  const contact: Call = { method: 'GET', path: '/open-apis/contact/v3/users/ou_1' };
  const keys = ({ limits }: CallPlan) => limits.map(({ key }) => key);

  it('draws from the buckets of both APIs, because nobody knows beforehand which of them it will be', () => {
    const plan = planned(contact, 'x', { ...oneApp, batching: true });
    expect(keys(plan)).toEqual([
      'feishu|cli_a|-|GET /open-apis/contact/v3/users/:user_id',
      'feishu|*|-|month',
      'feishu|cli_a|-|GET /open-apis/contact/v3/users/batch',
    ]);
    expect(plan.limits.at(-1)?.windows).toEqual(planned(contact).limits[0]?.windows);
    expect(plan.batch?.limitKey).toBe(plan.limits.at(-1)?.key);
    const direct: Call = { method: 'GET', path: '/open-apis/contact/v3/users/batch', query: { user_ids: ['ou_1'] } };
    expect(keys(planned(direct, 'x', { ...oneApp, batching: true }))).toContain(plan.batch?.limitKey);
  });

  it('is off unless it is set, and changes no other API', () => {
    expect(planned(contact).batch).toBeUndefined();
    for (const call of [send, record]) {
      const plan = planned(call, 'x', { ...oneApp, batching: true });
      expect(plan.batch).toBeUndefined();
      expect(keys(plan)).toEqual(keys(planned(call, 'x')));
    }
  });

  it('goes with others of the same app, tenant and token alone', () => {
    const options = { ...oneApp, batching: true };
    const shape = (more: Partial<Call>) => planned({ ...contact, ...more }, 'x', options).batch?.shape;
    expect(shape({ id: 'other' })).toBe(shape({}));
    const others = [{}, { tenant: 't2' }, { as: { user: 'ou_7' } }, { as: { user: 'ou_8' } }];
    expect(new Set(others.map((more) => shape(more))).size).toBe(4);
  });
});
