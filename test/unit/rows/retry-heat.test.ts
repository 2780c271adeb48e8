import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { RetryHeat } from '../../../src/pipeline/retry-heat.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { findBrowser, visit } from '../../support/headless.ts';
import { httpAsk } from '../../support/http-ask.ts';

const browser = await findBrowser();
const missing = browser === undefined ? ' (skipped: no browser; Debian has one in the package chromium)' : '';

const matrix = [
  [42, 17, 3],
  [58, 29, 8],
] as const;
const windowMs = 300_000;

/** Replays the counts of the matrix, one window after the other. */
function replay(heat: RetryHeat, fromMs: number): void {
  for (const [window, counts] of matrix.entries()) {
    for (const [column, count] of counts.entries()) {
      for (let n = 0; n < count; n++) heat.count(fromMs + window * windowMs + n, column + 1);
    }
  }
}

describe('the heat map of retries', () => {
  let served: Served;
  // The last two whole windows, as a day's first ones.
  const fromMs = Math.floor(Date.now() / windowMs) * windowMs - windowMs;
  beforeAll(async () => {
    const files = new ConfigFiles();
    const { config } = files.load(
      "data: memory\nlogLevel: silent\nlisten: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }\n",
    );
    files.remove();
    served = await serve(config, [], { worker: true, ingress: false });
    replay(served.worker!.house.instruments.retryHeat, fromMs);
  });
  afterAll(() => served.stop());

  it('S000-40: has a row for each five minutes and a column for each retry, with exactly what was counted', async () => {
    const { text } = await httpAsk(Number(new URL(served.adminUrl).port), '/admin/status');
    const { retries } = JSON.parse(text) as { retries: unknown };
    expect(retries).toEqual(
      matrix.map((counts, window) => ({
        from: new Date(fromMs + window * windowMs).toISOString(),
        retries: [...counts, 0, 0, 0],
      })),
    );
  });

  it.skipIf(browser === undefined)(
    `S000-40: the page shows exactly this matrix, the newest first${missing}`,
    async () => {
      vi.setConfig({ testTimeout: 60_000 });
      const page = await visit(browser!, `${served.adminUrl}/?lang=en`, { width: 1_200, height: 1_400 });
      const [, body = ''] = /<table id="retries">(.*?)<\/table>/s.exec(page) ?? [];
      const rows = [...body.matchAll(/<tr>(.*?)<\/tr>/gs)]
        .slice(1)
        .map(([, row = '']) =>
          [...row.matchAll(/<td>(?:<span class="heat(\d)">)?(\d+)<\//g)].map(([, heat = '', count = '']) => [
            Number(count),
            Number(heat),
          ]),
        );
      expect(rows.map((row) => row.map(([count]) => count))).toEqual([
        [58, 29, 8, 0, 0, 0],
        [42, 17, 3, 0, 0, 0],
      ]);
      expect(rows[0]?.[0]).toEqual([58, 4]);
      expect(rows[1]?.[2]).toEqual([3, 1]);
    },
  );
});

describe('RetryHeat', () => {
  it('keeps a day, and counts from the sixth retry on in one column', () => {
    const heat = new RetryHeat();
    heat.count(0, 1);
    heat.count(1, 9);
    expect(heat.rows(0)).toEqual([{ from: '1970-01-01T00:00:00.000Z', retries: [1, 0, 0, 0, 0, 1] }]);
    expect(heat.rows(86_400_000)).toEqual([]);
    heat.count(86_400_000, 2);
    expect(heat.rows(86_400_000)).toEqual([{ from: '1970-01-02T00:00:00.000Z', retries: [0, 1, 0, 0, 0, 0] }]);
  });
});
