import { afterAll, describe, expect, it } from 'vitest';

import type { Config } from '../../../src/config/config.ts';
import { describe as described } from '../../../src/config/describe.ts';
import { LiveConfig } from '../../../src/runtime/live-config.ts';
import { watchConfig } from '../../../src/runtime/watch-config.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';
import { noMetrics } from '../../support/silent.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const files = new ConfigFiles();
afterAll(() => files.remove());

const written = 'data: memory\nupstreams: { news: { baseUrl: http://news, concurrency: 16 } }\n';

/** A configuration that is followed, and what was applied. */
function followed() {
  const file = files.write(written);
  const log = new RememberingLogger();
  const applied: (number | undefined)[] = [];
  const source = {
    file,
    load: (overlays = [] as Parameters<typeof files.loadFile>[1]) => files.loadFile(file, overlays).config,
    describe: (overlays = [] as Parameters<typeof files.loadFile>[1]) => described(files.loadFile(file, overlays)),
  };
  const audits: unknown[] = [];
  const audit = { write: (change: unknown) => String(audits.push(change)) };
  const live = new LiveConfig(source, audit, { timers: new VirtualTime(), log, metrics: noMetrics });
  const stop = live.follow((config: Config) => void applied.push(config.upstreams['news']?.concurrency));
  stop();
  const shown = () => live.describe().find(({ path }) => path === 'upstreams.news.concurrency');
  return { live, applied, shown, log };
}

const valueOf = (live: LiveConfig, path: string) => live.describe().find((line) => line.path === path)?.value;

describe('the configuration of a process at work', () => {
  it('is that of the file with what lies over it, the newest on top, until that is taken off', () => {
    const { live, applied, shown } = followed();
    const first = live.overlay('playbook a', { 'upstreams.news.concurrency': 8 });
    const second = live.overlay('playbook b', { 'upstreams.news.concurrency': 4 });
    expect(shown()).toMatchObject({ value: '4', source: 'playbook b' });
    first();
    expect(shown()).toMatchObject({ value: '4', source: 'playbook b' });
    second();
    second();
    expect(applied).toEqual([8, 4, 4, 16]);
    expect(shown()?.source).toMatch(/larkspur\.yaml:2$/);
  });

  it('has the same values of the same playbook over it once, however often it puts them there', () => {
    const { live, applied, shown } = followed();
    for (let n = 0; n < 3; n++) live.overlay('playbook a', { 'upstreams.news.concurrency': 8 });
    live.overlay('playbook a', { 'upstreams.news.concurrency': 8 })();
    expect([applied.at(-1), shown()?.value]).toEqual([16, '16']);
  });

  it('stays as it is when what would lie over it does not fit', () => {
    const { live, applied, shown } = followed();
    expect(() => live.overlay('playbook a', { 'upstreams.news.concurrencyFloor': 99 })).toThrow(
      /upstreams\.news\.concurrencyFloor \(playbook a\): is 99, must not be above/,
    );
    expect([applied, shown()?.value]).toEqual([[], '16']);
  });

  it('says so when it cannot be taken off, because the file has mistakes by now', () => {
    const { live, applied, log } = followed();
    const off = live.overlay('playbook a', { 'upstreams.news.concurrency': 8 });
    files.write('upstreams: [');
    expect(off).toThrow('upstreams.news.concurrency of playbook a stay in force until the mistakes');
    expect(log.lines.at(-1)).toMatchObject({ level: 'error', fields: { source: 'playbook a' } });
    files.write(written);
    live.overlay('playbook b', { 'upstreams.news.retry.maxAttempts': 3 });
    expect(applied).toEqual([8, 16]);
  });

  it('shows what is in force: what waits for a restart as it was at the start, and nothing of a file with mistakes', () => {
    const { live } = followed();
    files.write(`${written}logLevel: debug\n`);
    live.overlay('playbook a', { 'upstreams.news.concurrency': 8 });
    expect([valueOf(live, 'logLevel'), valueOf(live, 'upstreams.news.concurrency')]).toEqual(['"info"', '8']);
    files.write('upstreams: [');
    expect(valueOf(live, 'upstreams.news.concurrency')).toBe('8');
  });

  it('shows a changed time for all attempts as in force, as it is with the retries it bounds', () => {
    const { live } = followed();
    live.overlay('playbook a', { 'upstreams.news.timeouts.totalMs': 7_000 });
    expect(valueOf(live, 'upstreams.news.timeouts.totalMs')).toBe('7000');
  });

  it('applies a change that came while the process was starting', async () => {
    const file = files.write(written);
    const { config, text } = files.loadFile(file);
    expect(config.upstreams['news']?.concurrency).toBe(16);
    files.write(written.replace('16', '8'));
    const applied = await new Promise<Config>((apply) => {
      const stop = watchConfig(
        { file, text, load: () => files.loadFile(file).config },
        { timers: new VirtualTime(), log: new RememberingLogger(), metrics: noMetrics },
        (found) => {
          stop();
          apply(found);
        },
      );
    });
    expect(applied.upstreams['news']?.concurrency).toBe(8);
  });

  it('writes down a change that came while the process was starting, and shows what waits for a restart as it was', async () => {
    const file = files.write(`${written}logLevel: warn\n`);
    const loaded = files.loadFile(file);
    files.write(`${written.replace('16', '8')}logLevel: debug\n`);
    const source = {
      ...{ file, text: loaded.text, described: described(loaded) },
      load: () => files.loadFile(file).config,
      describe: () => described(files.loadFile(file)),
    };
    const parts = { timers: new VirtualTime(), log: new RememberingLogger(), metrics: noMetrics };
    let stop = (): void => undefined;
    let shown: (path: string) => string | undefined = () => undefined;
    const audited = await new Promise<unknown>((resolve) => {
      const audit = { write: (change: unknown) => (resolve(change), '') };
      const live = new LiveConfig(source, audit, parts);
      stop = live.follow(() => undefined);
      shown = (path) => valueOf(live, path);
    });
    stop();
    expect(audited).toMatchObject({
      from: { 'upstreams.news.concurrency': '16', logLevel: '"warn"' },
      to: { 'upstreams.news.concurrency': '8', logLevel: '"debug"' },
    });
    expect([shown('upstreams.news.concurrency'), shown('logLevel')]).toEqual(['8', '"warn"']);
  });
});
