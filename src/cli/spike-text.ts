import type { Cause, HostCounts, Spike } from '../model/spike.ts';

import { safe } from './record-text.ts';

const words: Readonly<Record<Cause, string>> = {
  queue: 'queue delay: waiting in the topic and in the buffers, before a worker had room for it',
  order: 'standing behind an earlier call of the same key that is outside',
  claim: 'claim: asking the store for the right to act, or waiting for another owner',
  token: 'waiting for a token',
  limiter: 'limiter: waiting for quota',
  breaker: 'waiting for an open breaker',
  slots: 'waiting for a slot: as many attempts as allowed were under way',
  retry: 'waiting for the next attempt, or for the brake',
  'server-errors': 'downstream 5xx: attempts that were answered so, and the waits they caused',
  network: 'network of this host or on the way: connections refused, reset or not made, and the waits they caused',
  upstream: 'upstream time: attempts under way, and what followed those without an answer in time',
  write: 'writing the result until it was durable',
  other: 'what belongs to none of the others',
};

const hostWords: Readonly<Record<string, string>> = {
  retransmits: 'TCP segments sent again',
  resets: 'connections reset',
  connectFailures: 'connections that came to nothing',
  drops: 'packets dropped by network cards',
  errors: 'packets with errors',
};

// Fewer calls than that differ by chance.
const fewCalls = 10;

/** A spike for people: what stood together, the largest share of the rise first. */
export function spikeText(spike: Spike): string {
  const { at, before, rises, slowest, host } = spike;
  return [
    summaryOf(spike),
    ...(at.calls < fewCalls
      ? [`Only ${at.calls} ${at.calls === 1 ? 'call' : 'calls'} ended in it: that may be chance.`]
      : []),
    ...(rises.length === 0 ? [] : ['', 'What the rise is made of, on average per call:']),
    ...rises.map(({ cause, ms, share }) => `${percent(share)}  ${`+${duration(ms)}`.padStart(10)}  ${words[cause]}`),
    '',
    `calls ended    ${at.calls}${usual(before.calls / before.minutes)}`,
    `attempts       ${at.attempts}${usual(before.attempts / before.minutes)}`,
    `answers 5xx    ${at.serverErrors}${usual(before.serverErrors / before.minutes)}`,
    `network errors ${at.networkErrors}${usual(before.networkErrors / before.minutes)}`,
    ...(host === undefined ? [] : hostLines(host.at, host.before)),
    ...(slowest.length === 0 ? [] : ['', 'Slowest:']),
    ...slowest.map(
      ({ id, at: place, upstream, totalMs, cause, causeMs, traceId }) =>
        `  ${safe(id)} (${place}, ${upstream}): ${duration(totalMs)}, of which ${duration(causeMs)} ${cause}` +
        (traceId === undefined ? '' : `, trace ${traceId}`),
    ),
  ].join('\n');
}

function summaryOf({ minute, meanMs, usualMs, rises }: Spike): string {
  const said = `In the minute ${minute} a call took ${duration(meanMs)} on average`;
  if (usualMs === undefined) return `${said}; of the hour before nothing is known to compare it with.`;
  const compared = `${duration(usualMs)} in the quieter half of the hour before`;
  const rose = meanMs - usualMs;
  return rises.length === 0 || rose <= 0
    ? `${said}, which is no more than usual (${compared}).`
    : `${said}, ${duration(rose)} more than usual (${compared}).`;
}

function hostLines(at: HostCounts, before: HostCounts): string[] {
  return Object.entries(at).map(
    ([name, count]) => `${hostWords[name] ?? name} on this host: ${count}${usual(before[name] ?? 0)}`,
  );
}

function usual(perMinute: number): string {
  return Number.isFinite(perMinute) ? ` (usual: ${Math.round(perMinute * 10) / 10} a minute)` : '';
}

function percent(share: number): string {
  return `${String(Math.round(share * 100)).padStart(5)} %`;
}

function duration(ms: number): string {
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}
