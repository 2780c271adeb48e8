import { expect, it } from 'vitest';

import { PipelineBench } from '../../support/pipeline-bench.ts';

it('S000-06: a field that turns from text into an object crashes nothing, arrives untouched, and is told of once', () => {
  const bench = new PipelineBench({ upstreams: { feishu: {} } });
  let mobile: unknown = '+8613800000000';
  bench.upstream('feishu').script = () => ({ body: { code: 0, data: { user: { name: 'n', mobile } } } });
  bench.start();
  const ask = (n: number): void => {
    bench.call({ id: `u-${n}`, method: 'GET', path: `/open-apis/contact/v3/users/ou_${n}` });
    bench.run(1_000);
  };
  for (let n = 0; n < 10; n++) ask(n);
  mobile = { privacy: true, value: '+8613800000000' };
  for (let n = 10; n < 20; n++) ask(n);

  expect(bench.results.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'ok'));
  expect(bench.results.at(-1)?.response?.body).toEqual({ code: 0, data: { user: { name: 'n', mobile } } });
  const told = bench.log.lines.filter(({ message }) => message === 'a field of the answers changed its type');
  expect(told).toMatchObject([
    { level: 'warn', fields: { upstream: 'feishu', path: 'data.user.mobile', was: 'string', is: 'object' } },
  ]);
  // What it held stands in no log.
  expect(bench.log.text).not.toContain('13800000000');
});

it('paths of a plain upstream that differ by a number are one thing: its change is told of once, whatever is asked for', () => {
  const bench = new PipelineBench();
  let likes: unknown = 7;
  bench.upstream('news').script = () => ({ body: { likes } });
  bench.start();
  const ask = (n: number): void => {
    bench.call({ id: `a-${n}`, upstream: 'news', path: `/articles/${n}/figures` });
    bench.run(1_000);
  };
  for (let n = 0; n < 10; n++) ask(n);
  likes = 'seven';
  for (let n = 10; n < 20; n++) ask(n);

  const told = bench.log.lines.filter(({ message }) => message === 'a field of the answers changed its type');
  expect(told).toMatchObject([{ fields: { upstream: 'news', path: 'likes', was: 'number', is: 'string' } }]);
});
