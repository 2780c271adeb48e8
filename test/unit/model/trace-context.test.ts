import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { namesFrom, readTraceparent, shareFrom, traceparentOf } from '../../../src/model/trace-context.ts';

const hex = (length: number) =>
  fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => !/^0+$/.test(text));

describe('a traceparent', () => {
  it('that is written is read again as it was', () => {
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), (traceId, spanId, sampled) => {
        const context = { traceId, spanId, sampled };
        expect(readTraceparent(traceparentOf(context))).toEqual(context);
      }),
    );
  });

  it('is read by its last flag alone, and of a later version also when more stands behind', () => {
    const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
    const sampled = (flags: string) => readTraceparent(`00-${trace}-${span}-${flags}`)?.sampled;
    expect(['00', '01', '02', '03', 'fe', 'ff'].map(sampled)).toEqual([false, true, false, true, false, true]);
    expect(readTraceparent(`01-${trace}-${span}-01-more`)).toEqual({ traceId: trace, spanId: span, sampled: true });
  });

  it.each([
    undefined,
    '',
    '00-1-2-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more',
    'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
  ])('%s is none', (text) => {
    expect(readTraceparent(text)).toBeUndefined();
  });
});

describe('what is made from a name', () => {
  it('is the same for the same name, another for another, and long enough for a trace and a span', () => {
    expect(namesFrom('a')).toEqual(namesFrom('a'));
    expect(namesFrom('a')).not.toEqual(namesFrom('b'));
    expect([namesFrom('a').traceId.length, namesFrom('a').spanId.length]).toEqual([32, 16]);
  });

  it('spreads evenly over origins that differ by their offset', () => {
    const shares = Array.from({ length: 10_000 }, (_, n) => shareFrom(`c1/calls/3/${n}/1764460800000`));
    for (let tenth = 0; tenth < 10; tenth++) {
      const inTenth = shares.filter((share) => Math.floor(share * 10) === tenth).length;
      expect(inTenth).toBeGreaterThan(850);
      expect(inTenth).toBeLessThan(1_150);
    }
  });
});
