import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { LoggerOptions } from '../../../../src/adapters/pino/logger.ts';
import { createTextRedactor } from '../../../../src/model/secret-text.ts';

import { logged } from './logged.ts';

describe('createLogger', () => {
  it('lets no token through, wherever in a value it is put', () => {
    const secret = 't-Q7zK2mPx9Lr4Tn8Wv3Yb6';
    const holder = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 12, depthSize: 'max' },
        fc.constantFrom(secret, `x ${secret} y`, `?token=${secret}`, 1, null),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'token', 'body', 'headers'), tie('node'), { maxKeys: 3 }),
        fc.tuple(tie('node')).map(([cause]) => new Error(`with ${secret}`, { cause })),
      ),
    })).node;
    const letsThrough = (options: Partial<LoggerOptions>, text: string) =>
      fc.property(holder, (value) => !logged((log) => log.info({ value }, 'x'), options).text.includes(text));

    fc.assert(letsThrough({}, secret), { numRuns: 500, seed: 7 });
    // The same search finds a text that nobody masks, so it does look into the values.
    expect(fc.check(letsThrough({}, '[redacted]'), { numRuns: 500, seed: 7 }).failed).toBe(true);
  });

  it('takes a hostile text of four times the length in about four times the time, not in sixteen times it', () => {
    const redact = createTextRedactor();
    const leastMs = (text: string): number =>
      Math.min(
        ...Array.from({ length: 7 }, () => {
          const startedMs = performance.now();
          redact(text);
          return performance.now() - startedMs;
        }),
      );
    for (const part of ['token', 'a.', ':// ', 'eyJ', 'cookie', '-t-', 'token: ', '"token"  ', '/hook/']) {
      const text = part.repeat(Math.floor(8_192 / part.length));
      // 5 ms: of times as short as these the clock and the machine have their share.
      expect(leastMs(text.repeat(4))).toBeLessThan(9 * leastMs(text) + 5);
    }
  });
});

it('a text is looked at closely wherever a pattern could find something: no mask is missed for the first look', () => {
  const part = fc.constantFrom(
    ...[
      'authorization',
      'Cookie',
      'bearer ',
      'BASIC ',
      'token',
      'app_secret',
      'passwd',
      'passphrase',
      'apiKey',
      'ticket',
    ],
    ...[
      '=',
      ': ',
      '":"',
      '://',
      '@',
      'user',
      't-',
      '/hook/',
      '/trigger-webhook/',
      'ur-',
      'eyJhbGciOi',
      '.',
      'abcdefgh',
      'hunter2',
      '0123456789abcdefg',
      ' ',
    ],
  );
  const text = fc.array(part, { maxLength: 8, size: 'max' }).map((parts) => parts.join(''));
  const redact = createTextRedactor();
  // Behind a word that makes any text suspicious, and that no pattern finds by itself, everything is looked at.
  const closely = (one: string): string => redact(`key\n\n\n\n\n\n${one}`).slice(9);
  fc.assert(
    fc.property(text, (one) => {
      expect(redact(one)).toBe(closely(one));
    }),
    { numRuns: 5_000 },
  );
});
