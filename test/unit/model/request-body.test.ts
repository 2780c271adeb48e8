import { describe, expect, it } from 'vitest';

import { encodeMultipart } from '../../../src/model/multipart.ts';
import { encodeBody, encodeTarget } from '../../../src/model/request-body.ts';

describe('encodeTarget', () => {
  it.each([
    ['/a/b', undefined, '/a/b'],
    ['/a%20b', {}, '/a%20b'],
    ['/ä', { q: 'ü&=' }, '/%C3%A4?q=%C3%BC%26%3D'],
    ['/a', { n: 1, b: false, list: ['x', 2], empty: [] }, '/a?n=1&b=false&list=x&list=2'],
    ['/a', { bad: '\udc00' }, '/a?bad=%EF%BF%BD'],
  ])('%s with %o becomes %s', (path, query, target) => {
    expect(encodeTarget(path, query)).toBe(target);
  });
});

describe('encodeBody', () => {
  it('writes JSON, also null and plain values, and nothing when there is no body', () => {
    expect(encodeBody({ body: { a: '名' } }, 'x')?.bytes.toString()).toBe('{"a":"名"}');
    expect(encodeBody({ body: null }, 'x')?.bytes.toString()).toBe('null');
    expect(encodeBody({}, 'x')).toBeUndefined();
  });

  it('gives equal calls equal bytes and another id another boundary', () => {
    const call = { multipart: [{ name: 'a', value: 'b' }] };
    expect(encodeBody(call, 'x')).toEqual(encodeBody(call, 'x'));
    expect(encodeBody(call, 'y')?.contentType).not.toBe(encodeBody(call, 'x')?.contentType);
  });
});

describe('encodeMultipart', () => {
  it('reads back as the form it was, by the engine itself', async () => {
    const bytes = Buffer.from([0, 1, 13, 10, 45, 45, 255]);
    const body = encodeMultipart(
      [
        { name: 'text', value: 'grüße' },
        { name: 'typed', value: '{}', contentType: 'application/json' },
        { name: 'file', base64: bytes.toString('base64'), filename: '名 "x".bin', contentType: 'image/png' },
        { name: 'bare', base64: '' },
      ],
      'edge',
    );
    const response = new Response(body, { headers: { 'content-type': 'multipart/form-data; boundary=edge' } });
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- a reader that is not ours, of a body that is
    const form = await response.formData();
    const part = (name: string) => form.get(name) as unknown as Blob & { readonly name: string };
    expect(form.get('text')).toBe('grüße');
    expect(form.get('typed')).toBe('{}');
    const file = part('file');
    expect([file.name, file.type, Buffer.from(await file.arrayBuffer())]).toEqual(['名 "x".bin', 'image/png', bytes]);
    const bare = part('bare');
    expect([bare.name, bare.size, bare.type]).toEqual(['bare', 0, 'application/octet-stream']);
  });

  it('lets no name break out of its quotes or its line', () => {
    const body = encodeMultipart([{ name: 'a"\r\nX: y', value: 'v', contentType: 'text/plain\r\nX: z' }], 'edge');
    expect(body.toString()).toBe(
      '--edge\r\nContent-Disposition: form-data; name="a%22%0D%0AX: y"\r\nContent-Type: text/plain  X: z\r\n\r\nv\r\n--edge--\r\n',
    );
  });
});
