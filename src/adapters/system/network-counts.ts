import type { HostCounts } from '../../model/spike.ts';

import type { HostFiles } from './host-files.ts';

/** What /proc/net tells of the network between this host and the others. Counts since its start; `undefined`: not told. */
export function networkCounts(host: HostFiles) {
  const tcp = (name: string) => host.counter('/proc/net/snmp', 'Tcp', name);
  const cards = (inNth: number, outNth: number) =>
    sumOf(host.sum('/proc/net/dev', isCard, inNth), host.sum('/proc/net/dev', isCard, outNth));
  return {
    retransmits: tcp('RetransSegs'),
    connectFailures: tcp('AttemptFails'),
    resets: tcp('EstabResets'),
    drops: cards(4, 12),
    errors: cards(3, 11),
  };
}

/** The same without what is not told. */
export function hostCounts(host: HostFiles): HostCounts {
  const told = Object.entries(networkCounts(host)).flatMap(([name, count]) =>
    count === undefined ? [] : [[name, count] as const],
  );
  return Object.fromEntries(told);
}

const isCard = ([name = '']: readonly string[]): boolean => /^(eth|en|wl|bond)/.test(name);

function sumOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}
