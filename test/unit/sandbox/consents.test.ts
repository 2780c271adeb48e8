import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { Consents } from '../../../src/sandbox/state/consents.ts';
import { Tokens } from '../../../src/sandbox/state/tokens.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');
const redirectUri = 'https://larkspur.example/back';

function stage() {
  const time = new VirtualTime();
  let texts = 0;
  const newText = () => `text-${texts++}`;
  const tokens = new Tokens(undefined, 7_200_000, time, newText);
  const consents = new Consents(time, tokens, newText);
  const give = () => consents.give({ app: 'a', openId: 'ou_1', redirectUri, challenge });
  return { time, consents, give };
}

describe('a consent in the sandbox', () => {
  it('gives tokens once, for the app, the address and the verifier that it was asked with, within five minutes', () => {
    const { time, consents, give } = stage();
    const code = give();
    expect(consents.exchange('b', code, redirectUri, verifier)).toBe(20_024);
    expect(consents.exchange('a', code, 'https://elsewhere.example', verifier)).toBe(20_071);
    expect(consents.exchange('a', code, redirectUri, 'another')).toBe(20_049);
    const pair = consents.exchange('a', code, redirectUri, verifier);
    expect(typeof pair === 'object' && consents.userOf(pair.access.token)).toBe('ou_1');
    expect(consents.exchange('a', code, redirectUri, verifier)).toBe(20_065);
    expect(consents.exchange('a', 'none', redirectUri, verifier)).toBe(20_003);
    const late = give();
    time.advance(300_000);
    expect(consents.exchange('a', late, redirectUri, verifier)).toBe(20_004);
  });

  it('is refreshed by each refresh token once, and by none, nor used, after it was taken back', () => {
    const { consents, give } = stage();
    const first = consents.exchange('a', give(), redirectUri, verifier);
    if (typeof first === 'number') throw new Error(`refused: ${first}`);
    const second = consents.refresh('a', first.refresh);
    if (typeof second === 'number') throw new Error(`refused: ${second}`);
    expect(second.refresh).not.toBe(first.refresh);
    expect(consents.refresh('a', first.refresh)).toBe(20_073);
    // The access token lives on.
    expect(consents.userOf(first.access.token)).toBe('ou_1');

    consents.revoke('a', 'ou_1');
    expect(consents.refresh('a', second.refresh)).toBe(20_064);
    expect([first, second].map(({ access }) => consents.userOf(access.token))).toEqual([undefined, undefined]);
    expect(consents.refresh('a', 'none')).toBe(20_038);
  });

  it('has refresh tokens that serve for seven days, and forgets what is over for an hour', () => {
    const { time, consents, give } = stage();
    const code = give();
    const pair = consents.exchange('a', code, redirectUri, verifier);
    if (typeof pair === 'number') throw new Error(`refused: ${pair}`);
    time.advance(300_000 + 3_600_000 - 1);
    give();
    expect(consents.exchange('a', code, redirectUri, verifier)).toBe(20_065);
    time.advance(1);
    give();
    expect(consents.exchange('a', code, redirectUri, verifier)).toBe(20_003);

    time.advance(7 * 86_400_000);
    expect(consents.refresh('a', pair.refresh)).toBe(20_037);
    consents.exchange('a', give(), redirectUri, verifier);
    expect(consents.refresh('a', pair.refresh)).toBe(20_038);
  });
});
