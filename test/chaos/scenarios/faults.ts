import type { Result } from '../../../src/model/result.ts';
import { atLeast, atMost, type Bar, reportOf } from '../../../src/runtime/report.ts';
import type { FaultRule } from '../../../src/sandbox/faults/fault-rule.ts';
import { type LiveHouse, openLiveHouse } from '../../support/live-house.ts';
import type { Scenario } from '../scenario.ts';
import { type Played, playedFigures, recovery } from '../world/play.ts';

// Less than the retry budget earns: no call is held for long, and no breaker decides the run.
const rate = 0.08;
const resetSeconds = 1;
const faults: Readonly<Record<string, FaultRule>> = {
  timeout: { kind: 'timeout', rate, acts: true },
  unavailable: { kind: '503', rate },
  refusal: { kind: '429', rate, resetSeconds },
};
const mostCalls = 150;
const chats = 20;
// A busy machine answers in far less.
const attemptMs = 1_000;
const withinMs = 120_000;

/** Gateway time-out, 503 and 429, one after the other, on the embedded store: the invariants of each stand as bars. */
export const faultsAtUpstream: Scenario = async ({ calls, tell }) => {
  const count = Math.min(calls, mostCalls);
  const bars: Bar[] = [];
  const played: Played[] = [];
  const figures: Record<string, unknown> = { calls: count };
  for (const [name, rule] of Object.entries(faults)) {
    tell(`${name}: ${count} calls`);
    const house = await openLiveHouse({
      raw: () => ({
        upstreams: { feishu: { timeouts: { attemptMs, totalMs: 60_000 }, retry: { baseMs: 50, maxAttempts: 50 } } },
      }),
    });
    try {
      const round = await run(house, rule, count);
      bars.push(...round.bars.map((bar) => ({ ...bar, name: `${name}.${bar.name}` })));
      figures[name] = round.figures;
      played.push({ fault: name, ...healing(round.results) });
    } finally {
      await house.close();
    }
  }
  return reportOf('faults', [...bars, ...recovery(played)], { ...figures, ...playedFigures(played) });
};

async function run(house: LiveHouse, rule: FaultRule, count: number) {
  const { sandbox } = house;
  const ids = Array.from({ length: count }, (_, n) => `c-${n}`);
  sandbox.setFaults([rule]);
  const startedMs = performance.now();
  await house.produce(ids.map((id, n) => [messageTo(id, `oc_${n % chats}`, Math.floor(n / chats)), `oc_${n % chats}`]));
  await house.ended(count, withinMs);
  const ms = Math.round(performance.now() - startedMs);

  const [results, deadLetters] = [await house.results(), await house.deadLetters()];
  const owed = Object.fromEntries(
    Array.from({ length: chats }, (_, chat) => [`oc_${chat}`, ids.filter((_id, n) => n % chats === chat).length]),
  );
  const ledger = sandbox.verdict({ calls: owed });
  const ended = new Set([...results.map(({ id }) => id), ...deadLetters.map(({ id }) => id)]);
  const played = sandbox.stats().faults[rule.kind] ?? 0;
  const attempts = results.flatMap((result) => result.attempts);
  const bars = [
    atMost('lost', count - ended.size + ledger.missing, 0),
    atMost('twice', ledger.twice + results.length + deadLetters.length - ended.size, 0),
    atMost('outOfOrder', ledger.outOfOrder, 0),
    atMost('deadLetters', deadLetters.length, 0),
    atLeast('faults', played, 1),
    // Every fault is an attempt that failed, as the results tell it; a busy machine may let others time out as well.
    atMost('faultsUntold', Math.max(0, played - attempts.filter((one) => one.class !== 'success').length), 0),
    ...(rule.kind === '429' ? [atMost('callsBeforeReset', startsBeforeReset(attempts), 0)] : []),
  ];
  return {
    bars,
    results,
    figures: { ms, faults: played, replays: sandbox.stats().replays, attempts: attempts.length },
  };
}

/** How long a failed attempt took to be seen, and how long a call needed from there to its answer; the longest of each. */
function healing(results: readonly Result[]): { readonly detectMs: number; readonly recoverMs: number } {
  const hurt = results.map(({ attempts }) => attempts).filter(([first]) => first?.class !== 'success');
  const endOf = (attempt: Result['attempts'][number] | undefined): number =>
    attempt === undefined ? NaN : Date.parse(attempt.started) + attempt.ms;
  return {
    detectMs: Math.max(...hurt.map(([first]) => first?.ms ?? NaN)),
    recoverMs: Math.max(...hurt.map((attempts) => endOf(attempts.at(-1)) - endOf(attempts[0]))),
  };
}

/** Attempts that began after the answer to a refused one was there, and before its reset. */
function startsBeforeReset(attempts: readonly Result['attempts'][number][]): number {
  // Times of results are whole milliseconds.
  const roundingMs = 2;
  const answersMs = attempts
    .filter((one) => one.class === 'rate-limited')
    .map((one) => Date.parse(one.started) + one.ms);
  return attempts.filter(({ started }) => {
    const startMs = Date.parse(started);
    return answersMs.some((atMs) => startMs > atMs + roundingMs && startMs < atMs + resetSeconds * 1_000 - roundingMs);
  }).length;
}

const messageTo = (id: string, chat: string, n: number) => ({
  id,
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: chat, msg_type: 'text', content: JSON.stringify({ text: `n=${n}` }) },
});
