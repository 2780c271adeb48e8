import { setTimeout as sleep } from 'node:timers/promises';

import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { atLeast, atMost, reportOf } from '../../../src/runtime/report.ts';
import { messageEvent } from '../../../src/sandbox/events/bodies.ts';
import { type Answered, Courier } from '../../../src/sandbox/events/courier.ts';
import type { EventTarget } from '../../../src/sandbox/events/seal.ts';
import { sendTraffic } from '../../../src/sandbox/events/traffic.ts';
import type { Scenario } from '../scenario.ts';
import { aroundIngresses } from '../world/ingress.ts';
import { Looks } from '../world/looks.ts';
import { until } from '../world/until.ts';

/** One answer, with the moment at which it came. */
interface Answer extends Answered {
  readonly atMs: number;
}

const system = { clock: systemClock, timers: systemTimers, random: systemRandom };
const chats = 200;
const perSecond = 250;
// 15 s become 0.2 s, 5 min 4.5 s, 1 h 54 s: longer than the outage.
const timeScale = 0.015;
const inTimeMs = 100;
// However slow the machine is: later than this is late.
const latestMs = 300;
const lookEveryMs = 50;
// So long Kafka may be gone before every ingress has told it.
const toldWithinMs = 10_000;
// Until everybody has seen that the broker is gone, or what waited has been delivered again.
const afterwardsMs = 5_000;
// So long at least answers are timed while all is well.
const calmMs = 2_000;

/**
 * Signed, encrypted events over 200 chats to two ingresses, a fifth of them twice, while one ingress is killed and comes
 * back, and then Kafka is away: every event stands on `events` once, in the order of its chat; what was answered 200 stands
 * there; who cannot store answers 503; answers come at once while all is well.
 */
export const loseIngress: Scenario = ({ events, outageSeconds, tell }) =>
  aroundIngresses(async (world) => {
    const { broker, ingresses, target } = world;
    const answers: Answer[] = [];
    const acknowledged = new Set<string>();
    const startedMs = Date.now();
    const traffic = sendTraffic(
      { target, events, chats, duplicates: 0.2, schema: 'both', timeScale, perSecond, atOnce: chats },
      system,
      (answer, id) => {
        answers.push({ ...answer, atMs: Date.now() });
        if (answer.status === 200) acknowledged.add(id);
        tell(`${acknowledged.size} of ${events} events taken`);
      },
    );
    const bare = new Looks(lookEveryMs, () => ingresses[1]?.bareMs());
    const untilTaken = (share: number) =>
      until(`${share * 100} % are taken`, () => acknowledged.size >= events * share, {
        progress: () => acknowledged.size,
      });

    await untilTaken(0.2);
    await sleep(startedMs + afterwardsMs + calmMs - Date.now());
    const killedMs = Date.now();
    await ingresses[0]?.kill9();
    await sleep(2_000);
    await ingresses[0]?.start();
    const restartedMs = Date.now();
    await untilTaken(0.5);
    const awayMs = Date.now();
    await broker.kill9();
    const readiness = ingresses.map((ingress) => new Looks(lookEveryMs, () => ingress.readiness()));
    await sleep(toldWithinMs);
    const knocks = await knock(target, Math.max(1_000, outageSeconds * 1_000 - toldWithinMs));
    for (const looks of readiness) looks.stop();
    await broker.start();
    const backMs = Date.now();
    const report = await traffic;
    bare.stop();

    const ids = await world.stored();
    const expected = Object.values(report.ids).flat();
    const found = Object.values(ids).flat();
    const once = new Set(found);
    const outOfOrder = Object.entries(report.ids).filter(([chat, of]) => unlike(of, [...new Set(ids[chat])])).length;
    const during = (fromMs: number, toMs: number) => answers.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
    const calm = [
      [startedMs + afterwardsMs, killedMs],
      [restartedMs + afterwardsMs, awayMs],
    ] as const;
    const healthy = calm.flatMap(([fromMs, toMs]) => during(fromMs, toMs));
    const away = [...during(awayMs + afterwardsMs, backMs), ...knocks];
    const good = healthy.filter(({ status }) => status === 200);
    // On a machine that is busy with other things a bare answer is late as well.
    const bareP99Ms = at(
      0.99,
      calm.flatMap(([fromMs, toMs]) => bare.between(fromMs, toMs)),
    );
    const lateMs = Math.min(latestMs, Math.max(inTimeMs, 3 * bareP99Ms));
    const inTime = good.filter(({ ms }) => ms <= lateMs).length / good.length;
    const bars = [
      atMost('lost', expected.filter((id) => !once.has(id)).length, 0),
      atMost('acknowledgedNotStored', [...acknowledged].filter((id) => !once.has(id)).length, 0),
      atMost('twice', found.length - once.size, 0),
      atMost('outOfOrder', outOfOrder, 0),
      atMost('givenUp', report.givenUp, 0),
      atMost('ingressesEndedByThemselves', ingresses.filter(({ endedByItself }) => endedByItself).length, 0),
      atLeast('inTimeShare', round(inTime), 0.99),
      atLeast('healthyTakenShare', round(good.length / healthy.length), 0.999),
      // Once it is told that Kafka is gone, whoever comes is told at once.
      atLeast(
        'refusedWhileAwayShare',
        round(knocks.filter(({ status }) => status === 503).length / knocks.length),
        0.99,
      ),
      // 200 to a second delivery of what is stored; 0: no answer within Feishu's patience.
      atMost('otherAnswersWhileAway', away.filter(({ status }) => ![0, 200, 503].includes(status)).length, 0),
      atMost('readyWhileAway', readiness.filter((looks) => readyMs(looks) > awayMs + toldWithinMs).length, 0),
    ];
    const tookMs = good.map(({ ms }) => ms);
    const { deliveries, duplicates, byStatus, seconds } = report;
    return reportOf('ingress', bars, {
      ...{ events, chats, deliveries, duplicates, byStatus, seconds: Math.round(seconds) },
      healthyP50Ms: Math.round(at(0.5, tookMs)),
      healthyP99Ms: Math.round(at(0.99, tookMs)),
      bareP99Ms: Math.round(bareP99Ms),
      lateMs: Math.round(lateMs),
      unreadyAfterMs: readiness.map((looks) => readyMs(looks) - awayMs),
      refusedP99Ms: Math.round(
        at(
          0.99,
          knocks.map(({ ms }) => ms),
        ),
      ),
      unansweredWhileAway: away.filter(({ status }) => status === 0).length,
      outageSeconds: Math.round((backMs - awayMs) / 1_000),
    });
  });

/** Sends events that are new to everybody, each once, for so long. */
async function knock(target: EventTarget, forMs: number): Promise<Answered[]> {
  const courier = new Courier(system);
  const answers: Promise<Answered>[] = [];
  const salt = Date.now().toString(36);
  for (let n = 0; n < forMs / lookEveryMs; n++) {
    const { body } = messageEvent(target, { n, subject: `oc_knock_${n}`, wallMs: Date.now(), salt });
    answers.push(courier.deliver(target, 'events', body));
    await sleep(lookEveryMs);
  }
  const all = await Promise.all(answers);
  await courier.close();
  return all;
}

/** When an ingress said for the last time that it is ready, epoch milliseconds. */
function readyMs(readiness: Looks): number {
  return readiness.all.findLast(({ value }) => value === 200)?.atMs ?? 0;
}

function at(share: number, values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}

const round = (share: number): number => Math.round(share * 10_000) / 10_000;

function unlike(wanted: readonly string[], found: readonly string[]): boolean {
  return wanted.length !== found.length || wanted.some((id, index) => id !== found[index]);
}
