import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createMetrics } from '../../../src/adapters/prometheus/metrics.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { HostFiles } from '../../../src/adapters/system/host-files.ts';
import { hostMetrics } from '../../../src/adapters/system/host-metrics.ts';
import { metricTable } from '../../support/build/metric-table.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const documented = metricTable().filter(({ name }) => name.startsWith('larkspur_host_'));

/** The figures of a page by their names. */
async function figuresOf(files: HostFiles): Promise<() => Promise<ReadonlyMap<string, number>>> {
  const metrics = createMetrics({ processMetrics: false });
  hostMetrics(metrics, files);
  const read = async (): Promise<ReadonlyMap<string, number>> =>
    new Map(
      [...(await metrics.text()).matchAll(/^(larkspur_host_\w+) (\S+)$/gm)].map(([, name = '', value]) => [
        name.slice('larkspur_host_'.length),
        Number(value),
      ]),
    );
  await read();
  return read;
}

describe('S000-85: the health inputs of a machine', () => {
  let root = '';
  beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'larkspur-host-'))));
  afterEach(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  it('are at least seventeen, documented, of network, disk waits, CPU limit, memory and event loop', () => {
    expect(documented.length).toBeGreaterThanOrEqual(17);
    expect(documented.every(({ why }) => why.length > 10)).toBe(true);
    const names = documented.map(({ name }) => name).join(' ');
    for (const word of [
      'tcp_retransmits',
      'network_drops',
      'iowait',
      'io_pressure',
      'throttled',
      'memory',
      'event_loop',
    ])
      expect(names).toContain(word);
  });

  it.skipIf(process.platform !== 'linux')('are there on a Linux as it is, as numbers that make sense', async () => {
    const figures = await (await figuresOf(new HostFiles(systemClock)))();
    expect(figures.size).toBeGreaterThanOrEqual(12);
    const isShare = (name: string): boolean => name.endsWith('_ratio') && name !== 'load_ratio';
    const wrong = [...figures].filter(([name, value]) => !(value >= 0) || (isShare(name) && value > 1));
    expect(wrong).toEqual([]);
  });

  it('move when the container is throttled, packets are lost, or a disk is waited for', async () => {
    const time = new VirtualTime();
    const card = (drops: number) =>
      `Inter-| Receive\n face |bytes\n  eth0: 9 9 1 ${drops} 0 0 0 0 9 9 2 ${drops} 0 0 0 0\n    lo: 9 9 9 99 0 0 0 0 9 9 9 99 0 0 0 0\n`;
    const tcp = (again: number) =>
      `Tcp: RtoMin AttemptFails EstabResets CurrEstab RetransSegs\nTcp: 1 2 3 4 ${again}\n`;
    write('/sys/fs/cgroup/cpu.stat', 'usage_usec 9\nnr_periods 10\nnr_throttled 1\nthrottled_usec 500000\n');
    write('/proc/net/snmp', tcp(7));
    write('/proc/net/dev', card(5));
    write('/proc/stat', 'cpu  1 2 3 4 200 6 7 300 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n');
    write(
      '/proc/pressure/io',
      'some avg10=12.50 avg60=1.0 avg300=0.1 total=1\nfull avg10=2.00 avg60=0 avg300=0 total=1\n',
    );
    const read = await figuresOf(new HostFiles(time, root));
    const before = await read();
    expect(Object.fromEntries(before)).toMatchObject({
      throttled_seconds: 0.5,
      throttled_periods: 1,
      tcp_retransmits: 7,
      tcp_open: 4,
      network_drops: 10,
      network_errors: 3,
      iowait_seconds: 2,
      steal_seconds: 3,
      io_pressure_ratio: 0.125,
      io_stall_ratio: 0.02,
    });

    write('/sys/fs/cgroup/cpu.stat', 'usage_usec 9\nnr_periods 20\nnr_throttled 6\nthrottled_usec 2500000\n');
    write('/proc/net/snmp', tcp(70));
    write('/proc/net/dev', card(50));
    write('/proc/stat', 'cpu  1 2 3 4 900 6 7 300 0 0\n');
    time.advance(1_000);
    const after = await read();
    expect(after.get('throttled_seconds')).toBe(2.5);
    expect(after.get('throttled_periods')).toBe(6);
    expect(after.get('tcp_retransmits')).toBe(70);
    expect(after.get('network_drops')).toBe(100);
    expect(after.get('iowait_seconds')).toBe(9);
  });

  it('are read of cgroup 1, too, and what a system does not tell has no figure', async () => {
    write('/sys/fs/cgroup/cpu/cpu.stat', 'nr_periods 1\nnr_throttled 4\nthrottled_time 3000000000\n');
    write('/sys/fs/cgroup/memory/memory.usage_in_bytes', '250\n');
    write('/sys/fs/cgroup/memory/memory.limit_in_bytes', '1000\n');
    const figures = await (await figuresOf(new HostFiles(new VirtualTime(), root)))();
    expect(Object.fromEntries(figures)).toEqual({
      throttled_seconds: 3,
      throttled_periods: 4,
      memory_limit_ratio: 0.25,
      event_loop_ratio: expect.any(Number) as number,
    });

    // What the kernel says where there is no limit.
    write('/sys/fs/cgroup/memory/memory.limit_in_bytes', '9223372036854771712\n');
    const unlimited = await (await figuresOf(new HostFiles(new VirtualTime(), root)))();
    expect(unlimited.has('memory_limit_ratio')).toBe(false);
  });
});
