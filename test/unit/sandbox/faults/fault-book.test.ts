import { describe, expect, it } from 'vitest';

import { FaultBook, type FaultSubject } from '../../../../src/sandbox/faults/fault-book.ts';
import { type FaultRule, parseRules } from '../../../../src/sandbox/faults/fault-rule.ts';
import { seeded } from '../../../../src/sandbox/world-ports.ts';
import { bench } from '../client.ts';

const send: FaultSubject = { method: 'POST', path: '/open-apis/im/v1/messages', app: 'cli_a1', isBusiness: true };
const bookOf = (rules: readonly FaultRule[], seed = 1) => {
  const book = new FaultBook(seeded(seed));
  book.set(rules);
  return book;
};
const kindsOf = (book: FaultBook, count: number) => Array.from({ length: count }, () => book.decide(send)?.kind ?? '-');

describe('FaultBook', () => {
  it('gives each of several rules its whole share, and no request two faults', () => {
    const book = bookOf([
      { kind: '503', rate: 0.05 },
      { kind: '429', rate: 0.05 },
      { kind: 'hang', rate: 0.01 },
    ]);
    const kinds = kindsOf(book, 100_000);
    const shareOf = (kind: string) => kinds.filter((each) => each === kind).length / kinds.length;

    expect(shareOf('503')).toBeCloseTo(0.05, 2);
    expect(shareOf('429')).toBeCloseTo(0.05, 2);
    expect(shareOf('hang')).toBeCloseTo(0.01, 2);
    expect(shareOf('-')).toBeCloseTo(0.89, 2);
  });

  it('decides the same for the same seed, and otherwise for another', () => {
    const rules = [{ kind: '503', rate: 0.5 }] as const;

    expect(kindsOf(bookOf(rules), 200)).toEqual(kindsOf(bookOf(rules), 200));
    expect(kindsOf(bookOf(rules), 200)).not.toEqual(kindsOf(bookOf(rules, 2), 200));
  });

  it('counts every nth request and stops after so many times', () => {
    expect(kindsOf(bookOf([{ kind: '503', match: { everyNth: 3 } }]), 7)).toEqual([
      '-',
      '-',
      '503',
      '-',
      '-',
      '503',
      '-',
    ]);
    const book = bookOf([
      { kind: '503', match: { times: 2 } },
      { kind: '429', match: { times: 1 } },
    ]);
    expect(kindsOf(book, 4)).toEqual(['503', '503', '429', '-']);
    expect(book.counts).toEqual({ 503: 2, 429: 1 });
  });

  it.each<[NonNullable<FaultRule['match']>, boolean]>([
    [{ method: 'post' }, true],
    [{ method: 'GET' }, false],
    [{ app: 'cli_a1' }, true],
    [{ app: 'cli_a2' }, false],
    [{ path: '/open-apis/im' }, true],
    [{ path: '/open-apis/im/v1/messages/' }, false],
    [{ path: '/open-apis/*/v1/messages' }, true],
    [{ path: '/open-apis/*/messages' }, false],
    [{ path: '/open-apis/**/messages' }, true],
    [{ path: '/open-apis/im.v1/*' }, false],
    [{ method: 'POST', path: '/open-apis/**', app: 'cli_a2' }, false],
  ])('%j fits the request: %s', (match, fits) => {
    expect(bookOf([{ kind: '503', match }]).decide(send) !== undefined).toBe(fits);
  });

  it('names every mistake of the rules', () => {
    const { mistakes } = parseRules({
      rules: [
        { kind: '504' },
        { kind: '503', rate: 1.5, delayMs: 5 },
        { kind: 'code', match: { everyNth: 0, host: 'x' } },
        'nothing',
      ],
    });

    expect(mistakes?.map((mistake) => mistake.slice(0, mistake.indexOf(':')))).toEqual([
      'rules[0].kind',
      'rules[1].rate',
      'rules[1].delayMs',
      'rules[2].match.everyNth',
      'rules[2].match.host',
      'rules[2].code',
      'rules[3]',
    ]);
    expect(parseRules(7).mistakes).toHaveLength(1);
  });

  it('is switched over HTTP: put, read, refused with all mistakes, and taken away', async () => {
    const b = await bench();
    const put = (body: unknown) => b.ask('/_sandbox/faults', { method: 'PUT', body });

    expect((await put({ rules: [{ kind: '503' }] })).json).toMatchObject({ rules: [{ kind: '503' }], counts: {} });
    expect((await b.send('oc_1', 1)).status).toBe(503);
    expect(await put({ rules: [{ kind: '429', rate: -1 }] })).toMatchObject({
      status: 400,
      headers: { 'content-type': expect.stringContaining('application/problem+json') as string },
      json: { mistakes: ['rules[0].rate: must be a number from 0 to 1'] },
    });
    expect((await b.ask('/_sandbox/faults')).json).toMatchObject({ rules: [{ kind: '503' }], counts: { 503: 1 } });
    expect((await b.ask('/_sandbox/faults', { method: 'DELETE' })).json).toMatchObject({ rules: [] });
    expect((await b.send('oc_1', 1)).status).toBe(200);
  });
});
