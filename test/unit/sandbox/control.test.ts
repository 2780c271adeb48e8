import { expect, it } from 'vitest';

import { bench } from './client.ts';

it.each(['constructor', 'toString', '__proto__'])('a member named %s is a mistake like any other', async (name) => {
  const b = await bench();
  const put = (what: string, body: string) =>
    b.ask(`/_sandbox/${what}`, { method: 'PUT', body, headers: { 'content-type': 'application/json' } });
  for (const [what, body] of [
    ['settings', `{"${name}":1}`],
    ['faults', `[{"kind":"503","${name}":1}]`],
    ['faults', `[{"kind":"503","match":{"${name}":1}}]`],
  ] as const) {
    const reply = await put(what, body);
    expect([reply.status, reply.text]).toEqual([400, expect.stringMatching(`${name}: is not a`)]);
  }
});

it.each(['{"app": "cli_a1"', '[]', 'null', '{"app": 1}', '{"stuck": "yes"}'])(
  'revoking tokens with the body %s revokes none',
  async (body) => {
    const b = await bench();
    const headers = { 'content-type': 'application/json' };
    expect((await b.ask('/_sandbox/tokens/revoke', { method: 'POST', body, headers })).status).toBe(400);
    expect((await b.send('oc_1', 1)).json.code).toBe(0);
  },
);

it.each(['application/x-www-form-urlencoded', 'text/plain'])(
  'a body is read as JSON also when it comes as %s',
  async (type) => {
    const b = await bench();
    const ask = (path: string, method: 'PUT' | 'POST', body: string) =>
      b.ask(`/_sandbox/${path}`, { method, body, headers: { 'content-type': type } });
    expect((await ask('settings', 'PUT', '{"latencyMs":7}')).json).toMatchObject({ latencyMs: 7 });
    expect((await ask('faults', 'PUT', '[{"kind":"503"}]')).json).toMatchObject({ rules: [{ kind: '503' }] });
    expect((await ask('events', 'POST', '{"events":1}')).json).toMatchObject({ mistakes: ['target: is missing'] });
    expect((await ask('tokens/revoke', 'POST', '{"app":"another"}')).json).toEqual({ revoked: 0 });
    expect((await ask('tokens/revoke', 'POST', '{"app":')).status).toBe(400);
  },
);
