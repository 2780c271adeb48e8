import { originOf } from '../../src/model/record.ts';

import type { BenchWorker, PipelineBench } from './pipeline-bench.ts';

/** What a bench still has to do with its calls, in words. Once all of them could end it must be nothing. */
export function leftOver(bench: PipelineBench, workers: readonly BenchWorker[]): string[] {
  const kept = workers.flatMap((worker, nth) =>
    keptBy(worker, bench.time.now()).map((what) => `worker ${nth}: ${what}`),
  );
  return [...withoutOneEnding(bench), ...notCommitted(bench), ...kept];
}

/** Records may stand twice in their topic, but then say the same. */
function withoutOneEnding(bench: PipelineBench): string[] {
  const endings = new Map<string, Set<string>>();
  const ended = (origin: string, how: string): void => {
    endings.set(origin, (endings.get(origin) ?? new Set()).add(how));
  };
  for (const { origin, status } of bench.results) ended(origin, status);
  for (const { origin, reason } of bench.deadLetters) ended(String(origin), String(reason));
  return bench.records('calls').flatMap((record) => {
    const origin = originOf(bench.store.clusterId, record);
    const hows = [...(endings.get(origin) ?? [])];
    return hows.length === 1 ? [] : [`${origin} ended as: ${hows.join(', ')}`];
  });
}

function notCommitted(bench: PipelineBench): string[] {
  const { group } = bench;
  return group.topics.flatMap((topic) =>
    bench
      .records(topic)
      .filter(({ partition, offset }) => offset >= (group.committedOf(topic).get(partition)?.offset ?? 0))
      .map(({ partition, offset }) => `${topic}/${partition}/${offset} is not committed`),
  );
}

function keptBy({ house, error }: BenchWorker, nowMs: number): string[] {
  if (error !== undefined) return [`its stream ended: ${error instanceof Error ? error.message : 'with no error'}`];
  const { rings, lanes, keeper, lines, overflow, turns, destinations } = house;
  const { queued, inTurn, lanes: byState, rooms } = lanes.stats();
  const { here, outside } = overflow.stats();
  const counts: [what: string, count: number][] = [
    ['records in rings', rings.size],
    ['records in lanes', queued + inTurn],
    ['lanes', Object.values(byState).reduce((sum, count) => sum + count, 0)],
    ['rooms', rooms.length],
    ['claims', keeper.size],
    ['calls in lines', lines.calls],
    ['calls counted in their lanes', here],
    ['calls counted outside', outside],
    ['places of calls that leave', turns.mayLeave ? 0 : 1],
  ];
  for (const { name, slots, working, limiter, breakers } of destinations.values()) {
    const lost = [...(breakers?.entries() ?? [])].filter(([, breaker]) => breaker.snapshot(nowMs).leaseExpiries > 0);
    counts.push(
      [`slots of ${name}`, slots.inUse + slots.waiting],
      [`places at the door of ${name}`, working.inUse],
      [`promises of quota of ${name}`, limiter.snapshot(nowMs).promised],
      [`breakers of ${name} with permits that nobody gave back`, lost.length],
    );
  }
  return counts.filter(([, count]) => count > 0).map(([what, count]) => `${count} ${what}`);
}
