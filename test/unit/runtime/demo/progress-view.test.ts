import { describe, expect, it } from 'vitest';

import { quantiles } from '../../../../src/runtime/demo/figures.ts';
import { RateTrack } from '../../../../src/runtime/demo/progress-lines.ts';
import { progressView } from '../../../../src/runtime/demo/progress-view.ts';
import type { Progress } from '../../../../src/runtime/demo/progress.ts';

function at(elapsedMs: number, ended: number): Progress {
  return {
    calls: 1_000,
    elapsedMs,
    ended,
    deadLetters: 0,
    attempts: ended,
    retries: 0,
    refusals: 0,
    replays: 0,
    inFlight: 3,
    waiting: { quota: 40, retry: 2, breaker: 0, slot: 1 },
    behind: 900 - ended,
    breakers: [{ name: 'im', state: 'closed', failingShare: 0.05 }],
  };
}

describe('progressView', () => {
  it('paints the same number of rows in place, none wider than the terminal, and gives the cursor back', () => {
    const texts: string[] = [];
    const view = progressView({ isTTY: true, columns: 50, write: (text) => texts.push(text) });
    view.update(at(500, 100));
    view.update(at(1_000, 250));
    view.close();
    view.close();

    const rows = texts[1]!.split('\u001b[J')[1]!.trimEnd().split('\n');
    expect(texts[1]).toMatch(new RegExp(String.raw`^\u001b\[${rows.length}A\r`));
    expect(Math.max(...rows.map((row) => row.replaceAll(/\u001b\[\d+m/g, '').length))).toBeLessThan(50);
    expect(texts.filter((text) => text.includes('\u001b[?25l'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('\u001b[?25h'))).toHaveLength(1);
  });

  it('writes a plain line a second where there is no terminal, and the last state at the end', () => {
    let text = '';
    const view = progressView({ write: (more) => (text += more) });
    for (let ms = 100; ms <= 2_300; ms += 100) view.update(at(ms, ms / 10));
    view.close();

    const lines = text.trimEnd().split('\n');
    expect(lines.map((line) => line.trim().split('  ')[0])).toEqual(['1.0 s', '2.0 s', '2.3 s']);
    expect(lines[1]).toContain('100/s');
    expect(text).not.toContain('\u001b');
  });
});

describe('RateTrack', () => {
  it('counts over the last two seconds, however unevenly it was looked at', () => {
    const track = new RateTrack();
    for (const [ms, ended] of [
      [100, 50],
      [1_000, 60],
      [4_000, 360],
    ] as const)
      track.look(at(ms, ended));

    expect(track.perSecond()).toBe(100);
    expect(track.chart(3)).toHaveLength(3);
  });
});

describe('quantiles', () => {
  it('takes the nearest rank', () => {
    expect(quantiles(Array.from({ length: 100 }, (_, i) => i + 1))).toEqual({ p50: 50, p99: 99 });
    expect(quantiles([])).toEqual({ p50: 0, p99: 0 });
  });
});
