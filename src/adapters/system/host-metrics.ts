import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';

import type { Labels, Metrics } from '../../ports/metrics.ts';

import type { HostFiles } from './host-files.ts';
import { networkCounts } from './network-counts.ts';

// What /proc/stat counts in, on every Linux that Node runs on.
const ticksPerSecond = 100;
const isDisk = ([, , name = '']: readonly string[]): boolean =>
  /^(sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+)$/.test(name);

/**
 * How the machine is, out of /proc, cgroup (1 and 2) and the event loop: what makes calls slow although no upstream is. Read
 * when somebody scrapes; what a system does not tell has no sample. Counts are since its start, and only grow.
 */
export function hostMetrics(metrics: Metrics, host: HostFiles): void {
  cpu(metrics, host);
  memory(metrics, host);
  disk(metrics, host);
  network(metrics, host);
  own(metrics, host);
}

type Reader = () => readonly (readonly [Labels, number])[];

function one(read: () => number | undefined): Reader {
  return () => {
    const value = read();
    return value === undefined ? [] : [[{}, value]];
  };
}

function scaled(value: number | undefined, by: number): number | undefined {
  return value === undefined ? undefined : value * by;
}

function share(part: number | undefined, whole: number | undefined): number | undefined {
  return part === undefined || whole === undefined || whole <= 0 ? undefined : part / whole;
}

// In cgroup 1 no limit is the largest number of pages.
function limitIn(bytes: number | undefined): number | undefined {
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

function cpu(metrics: Metrics, host: HostFiles): void {
  const stat = '/proc/stat';
  const v2 = '/sys/fs/cgroup/cpu.stat';
  const v1 = '/sys/fs/cgroup/cpu/cpu.stat';
  metrics.gauge(
    'larkspur_host_load_ratio',
    'Processes that want a core over the last minute, per core',
    [],
    one(() => scaled(host.field('/proc/loadavg', '', 0), 1 / availableParallelism())),
  );
  metrics.gauge(
    'larkspur_host_cpu_pressure_ratio',
    'Share of the last 10 s in which somebody waited for a core',
    [],
    one(() => host.pressure('cpu', 'some')),
  );
  metrics.gauge(
    'larkspur_host_steal_seconds',
    'Time that the hypervisor gave to others, all cores',
    [],
    one(() => scaled(host.field(stat, 'cpu ', 8), 1 / ticksPerSecond)),
  );
  metrics.gauge(
    'larkspur_host_throttled_seconds',
    'Time in which the CPU limit of the container held it back',
    [],
    one(() => scaled(host.valueOf(v2, 'throttled_usec'), 1e-6) ?? scaled(host.valueOf(v1, 'throttled_time'), 1e-9)),
  );
  metrics.gauge(
    'larkspur_host_throttled_periods',
    'Periods in which the CPU limit of the container was reached',
    [],
    one(() => host.valueOf(v2, 'nr_throttled') ?? host.valueOf(v1, 'nr_throttled')),
  );
}

function memory(metrics: Metrics, host: HostFiles): void {
  const info = '/proc/meminfo';
  const [v2, v1] = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/memory/memory'];
  metrics.gauge(
    'larkspur_host_memory_available_ratio',
    'Share of the memory of the machine that is there for the taking',
    [],
    one(() => share(host.valueOf(info, 'MemAvailable'), host.valueOf(info, 'MemTotal'))),
  );
  metrics.gauge(
    'larkspur_host_memory_limit_ratio',
    'Share of the memory limit of the container that is used; absent without a limit',
    [],
    one(
      () =>
        share(host.number(`${v2}.current`), host.number(`${v2}.max`)) ??
        share(host.number(`${v1}.usage_in_bytes`), limitIn(host.number(`${v1}.limit_in_bytes`))),
    ),
  );
  metrics.gauge(
    'larkspur_host_memory_pressure_ratio',
    'Share of the last 10 s in which somebody waited for memory',
    [],
    one(() => host.pressure('memory', 'some')),
  );
  metrics.gauge(
    'larkspur_host_memory_stall_ratio',
    'Share of the last 10 s in which all waited for memory',
    [],
    one(() => host.pressure('memory', 'full')),
  );
  metrics.gauge(
    'larkspur_host_oom_kills',
    'Processes that were killed for want of memory',
    [],
    one(() => host.valueOf(`${v2}.events`, 'oom_kill') ?? host.valueOf('/proc/vmstat', 'oom_kill')),
  );
  metrics.gauge(
    'larkspur_host_swapped_pages',
    'Pages that were written to swap',
    [],
    one(() => host.valueOf('/proc/vmstat', 'pswpout')),
  );
}

function disk(metrics: Metrics, host: HostFiles): void {
  metrics.gauge(
    'larkspur_host_iowait_seconds',
    'Time in which cores had nothing to do but to wait for a disk',
    [],
    one(() => scaled(host.field('/proc/stat', 'cpu ', 5), 1 / ticksPerSecond)),
  );
  metrics.gauge(
    'larkspur_host_io_pressure_ratio',
    'Share of the last 10 s in which somebody waited for a disk',
    [],
    one(() => host.pressure('io', 'some')),
  );
  metrics.gauge(
    'larkspur_host_io_stall_ratio',
    'Share of the last 10 s in which all waited for a disk',
    [],
    one(() => host.pressure('io', 'full')),
  );
  metrics.gauge(
    'larkspur_host_disk_busy_seconds',
    'Time in which disks had something to do, all disks',
    [],
    one(() => scaled(host.sum('/proc/diskstats', isDisk, 12), 1e-3)),
  );
}

function network(metrics: Metrics, host: HostFiles): void {
  const counted = (name: keyof ReturnType<typeof networkCounts>) => one(() => networkCounts(host)[name]);
  metrics.gauge(
    'larkspur_host_tcp_retransmits',
    'TCP segments that were sent again: packets get lost',
    [],
    counted('retransmits'),
  );
  metrics.gauge(
    'larkspur_host_tcp_connect_failures',
    'Connections that came to nothing',
    [],
    counted('connectFailures'),
  );
  metrics.gauge('larkspur_host_tcp_resets', 'Open connections that were reset', [], counted('resets'));
  metrics.gauge(
    'larkspur_host_tcp_open',
    'Open connections',
    [],
    one(() => host.counter('/proc/net/snmp', 'Tcp', 'CurrEstab')),
  );
  metrics.gauge('larkspur_host_network_drops', 'Packets that network cards dropped, in and out', [], counted('drops'));
  metrics.gauge(
    'larkspur_host_network_errors',
    'Packets that network cards received or sent with errors',
    [],
    counted('errors'),
  );
}

function own(metrics: Metrics, host: HostFiles): void {
  let last = performance.eventLoopUtilization();
  metrics.gauge(
    'larkspur_host_event_loop_ratio',
    'Share of the time since the last scrape in which the event loop was busy',
    [],
    one(() => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    }),
  );
  metrics.gauge(
    'larkspur_host_open_files_ratio',
    'Share of the files and sockets that this process may open',
    [],
    one(() => {
      const limit = /^Max open files\s+(\d+)/m.exec(host.text('/proc/self/limits'))?.[1];
      return share(host.count('/proc/self/fd'), limit === undefined ? undefined : Number(limit));
    }),
  );
  metrics.gauge(
    'larkspur_host_preemptions',
    'Times that this process had to give its core up',
    [],
    one(() => host.valueOf('/proc/self/status', 'nonvoluntary_ctxt_switches')),
  );
}
