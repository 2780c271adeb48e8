import { of } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';

import { combinedLine } from '../../../src/adapters/http/combined-line.ts';
import { jsonResponse } from '../../../src/model/http.ts';
import type { HttpRoute } from '../../../src/ports/http-route.ts';
import { httpAsk } from '../../support/http-ask.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';
import { start } from '../adapters/http/serving.ts';

/** The pattern by which tools read the combined format. */
const combined =
  /^(?<from>\S+) (?<ident>\S+) (?<user>\S+) \[(?<at>\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "(?<method>[A-Z]+) (?<path>\S+) HTTP\/(?<version>[\d.]+)" (?<status>\d{3}) (?<bytes>\d+|-) "(?<referer>(?:[^"\\]|\\.)*)" "(?<agent>(?:[^"\\]|\\.)*)"$/;

describe('the access line of the ingress', () => {
  it('S000-16: parses with the pattern of the combined format, so that the share of 4xx can be counted from it', async () => {
    const log = new RememberingLogger();
    const door: HttpRoute = {
      method: 'POST',
      path: '/v1/calls/:id',
      handle: () => of(jsonResponse(422, { wrong: true })),
    };
    const port = await start([door], { log });
    const headers = { 'user-agent': 'probe "x"\\1', referer: 'http://a/b?code=hush#hush' };
    await httpAsk(port, '/v1/calls/secret?token=hush', { method: 'POST', headers, body: '{}' });
    const line = await vi.waitFor(() => {
      const found = log.lines.find(({ fields }) => 'combined' in fields);
      expect(found).toBeDefined();
      return String(found?.fields['combined']);
    });

    expect(combined.exec(line)?.groups).toMatchObject({
      ...{ from: '127.0.0.1', user: '-', method: 'POST', path: '/v1/calls/:id', version: '1.1', status: '422' },
      ...{ bytes: '14', referer: 'http://a/b', agent: String.raw`probe \x22x\x22\x5C1` },
    });
    expect(line).not.toMatch(/secret|hush/);
  });

  it.each(['a\nb', '"', '\u0000', 'é', '💥', '\\'])(
    'stays one line that parses, whatever a client calls itself: %j',
    (agent) => {
      const line = combinedLine({
        ...{ from: '::1', client: 'shop', wallMs: Date.UTC(2026, 0, 2, 3, 4, 5), method: 'GET', route: '/x' },
        ...{ httpVersion: '1.1', status: 200, bytes: undefined, referer: undefined, agent },
      });
      expect(combined.exec(line)?.groups).toMatchObject({ user: 'shop', at: '02/Jan/2026:03:04:05 +0000', bytes: '-' });
    },
  );
});
