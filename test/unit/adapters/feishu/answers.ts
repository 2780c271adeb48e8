import { expect } from 'vitest';

import { feishuProfile, type FeishuProfileOptions } from '../../../../src/adapters/feishu/profile.ts';
import type { Call } from '../../../../src/model/call.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import type { CallPlan, Repeat } from '../../../../src/ports/profile.ts';

export const oneApp: FeishuProfileOptions = { apps: [{ id: 'cli_a' }], baseUrl: 'https://open.feishu.cn' };

export const send: Call = {
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: 'oc_1', msg_type: 'text', content: '{"text":"hi"}' },
};

/** The plan of a call, which must have one. */
export function planned(call: Call = send, id = 'id-1', options = oneApp): CallPlan {
  const plan = feishuProfile(options).plan(call, id);
  return 'reason' in plan ? expect.fail(plan.message) : plan;
}

/** A plan whose API belongs to a service, with what may be repeated. */
export function planFor(service: string, repeat: Repeat = { kind: 'always' }): CallPlan {
  const plan = planned({ path: `/open-apis/${service}/v9/unknown-api` });
  return { ...plan, repeat };
}

export function answered(
  status: number,
  body: unknown = { code: 0, msg: 'success', data: {} },
  headers: Readonly<Record<string, string>> = {},
): Exchange {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { kind: 'answered', status, headers, body: bytes };
}
