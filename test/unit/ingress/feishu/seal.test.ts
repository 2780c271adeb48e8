import { describe, expect, it } from 'vitest';

import { decrypt, isOneOf, signatureHeaders, signedWith } from '../../../../src/ingress/feishu/seal.ts';

import { plain2, spaced, tight, vector2, vectorHeaders } from './vectors.ts';

describe('decrypt', () => {
  it('opens what the documentation gives as examples', () => {
    const hello = decrypt('test key', 'P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=');

    expect(hello?.toString()).toBe('hello world');
    expect(decrypt('dispatcher-test-key', vector2)?.toString()).toBe(plain2);
  });

  it.each(['', 'AAAA', vector2.slice(0, 40), `${vector2.slice(0, -4)}AAAA`, '%%%', '中文'])(
    'gives nothing for %j',
    (sealed) => {
      expect(decrypt('dispatcher-test-key', sealed)).toBeUndefined();
    },
  );
});

describe('signedWith', () => {
  const headers = (signature: string) => signatureHeaders(vectorHeaders(signature))!;

  it.each([tight, spaced])('finds the key over the bytes as they came', ({ body, signature }) => {
    const keys = ['another', 'dispatcher-test-key'];

    expect(signedWith(keys, headers(signature), Buffer.from(body))).toBe('dispatcher-test-key');
    expect(signedWith(keys, headers(signature.toUpperCase()), Buffer.from(body))).toBe('dispatcher-test-key');
    expect(signedWith(['another'], headers(signature), Buffer.from(body))).toBeUndefined();
    expect(signedWith(keys, headers(signature), Buffer.from(`${body} `))).toBeUndefined();
    expect(signedWith(keys, headers(signature.slice(1)), Buffer.from(body))).toBeUndefined();
  });

  it('needs all three headers', () => {
    const { 'x-lark-request-nonce': _, ...two } = vectorHeaders(tight.signature);

    expect(signatureHeaders(two)).toBeUndefined();
  });
});

describe('isOneOf', () => {
  it('knows the current and the former secret, and nothing else', () => {
    expect(['a', 'b', 'c', '', 'aa'].map((text) => isOneOf(['a', 'b'], text))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
