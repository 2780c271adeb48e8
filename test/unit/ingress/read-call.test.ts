import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readCall } from '../../../src/ingress/read-call.ts';

const faultsOf = (text: string | Buffer) => {
  const read = readCall(Buffer.from(text));
  return read.ok ? [] : read.faults;
};

describe('readCall', () => {
  it('takes the least a user must write', () => {
    expect(readCall(Buffer.from('{"path":"/x"}'))).toEqual({ ok: true, call: { path: '/x' } });
  });

  it.each([
    ['', 'is empty'],
    ['{"path": x}', "Unexpected token 'x' at line 1, column 10"],
    ['{\n  "path": "/hush"\n  "body": 1\n}', "Expected ',' or '}' after property value at line 3, column 3"],
    ['{"path":"/hush"', 'at line 1, column 16'],
    ['{"path":"/x"} {', 'at line 1, column 15'],
    ['hush', "Unexpected token 'h' at line 1, column 1"],
    ['[1,\n]', "Unexpected token ']' at line 2, column 1"],
  ])('names the place of a mistake in %j without repeating the text', (text, message) => {
    const faults = faultsOf(text);

    expect(faults).toEqual([{ at: '', message: expect.stringContaining(message) as string }]);
    expect(JSON.stringify(faults)).not.toContain('hush');
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(faultsOf(Buffer.from([0x22, 0xff, 0x22]))).toEqual([{ at: '', message: 'is not UTF-8' }]);
  });

  it('names every wrong field', () => {
    const faults = faultsOf('{"path":"//evil","ttlMs":-1,"retry":true,"colour":"red","headers":{"host":"x"}}');

    expect(faults.map(({ at }) => at)).toEqual(
      expect.arrayContaining(['/path', '/ttlMs', '/retry', '/colour', '/headers/host']),
    );
  });

  it('gives a call or faults for any bytes, and never throws', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((json) => new TextEncoder().encode(json)),
    );
    fc.assert(
      fc.property(bytes, (body) => {
        const read = readCall(Buffer.from(body));
        return read.ok || read.faults.length > 0;
      }),
      { numRuns: 500, seed: 7 },
    );
  });
});
