import type { Progress } from './progress.ts';

const barCells = 40;
const blocks = '▁▂▃▄▅▆▇█';
const labelWidth = 11;

const rateOverMs = 2_000;

/** How fast calls have ended: over the last two seconds, and slice by slice for the chart. */
export class RateTrack {
  readonly #sliceMs: number;
  readonly #slices: number[] = [];
  #recent: { readonly elapsedMs: number; readonly ended: number }[] = [{ elapsedMs: 0, ended: 0 }];

  constructor(sliceMs = 500) {
    this.#sliceMs = sliceMs;
  }

  /** To be told each look, in the order of time. */
  look({ elapsedMs, ended }: Progress): void {
    const before = this.#recent.at(-1)?.ended ?? 0;
    const slice = Math.floor(elapsedMs / this.#sliceMs);
    while (this.#slices.length <= slice) this.#slices.push(0);
    this.#slices[slice] = (this.#slices[slice] ?? 0) + ended - before;
    this.#recent.push({ elapsedMs, ended });
    // The last look before the span stays: it is where the span begins.
    const begin = this.#recent.findLastIndex((look) => look.elapsedMs <= elapsedMs - rateOverMs);
    if (begin > 0) this.#recent = this.#recent.slice(begin);
  }

  /** Calls ended per second over the last two seconds. */
  perSecond(): number {
    const [first, last] = [this.#recent[0], this.#recent.at(-1)];
    if (first === undefined || last === undefined || last.elapsedMs === first.elapsedMs) return 0;
    return ((last.ended - first.ended) * 1_000) / (last.elapsedMs - first.elapsedMs);
  }

  /** The newest `cells` slices as a small chart, without the one that is not over. */
  chart(cells: number): string {
    const rates = this.#slices.slice(0, -1);
    const most = Math.max(1, ...rates);
    return rates
      .slice(-cells)
      .map((rate) => blocks.charAt(Math.round((rate / most) * (blocks.length - 1))))
      .join('');
  }
}

/** The live view: always the same lines, so that it can be painted in place. */
export function liveLines(progress: Progress, track: RateTrack): string[] {
  const { calls, ended, deadLetters, attempts, retries, refusals, replays, inFlight, waiting, behind, elapsedMs } =
    progress;
  const share = Math.min(1, ended / calls);
  const filled = Math.round(share * barCells);
  const breakers = progress.breakers.map(
    ({ name, state, failingShare }) => `${name} ${state} (${Math.round(failingShare * 100)} % fail)`,
  );
  return [
    `${'█'.repeat(filled)}${'░'.repeat(barCells - filled)}  ${percent(share)}  ${number(ended)} of ${number(calls)}  ${seconds(elapsedMs)}`,
    '',
    line('rate', `${Math.round(track.perSecond())}/s  ${track.chart(50)}`),
    line('ended', `${number(ended - deadLetters)} results, ${number(deadLetters)} dead letters`),
    line('attempts', `${number(attempts)}: ${retries} retries, ${refusals} refused by quota, ${replays} replayed`),
    line('now', `${inFlight} at Feishu, ${number(behind)} calls behind others of their chat`),
    line(
      'waiting',
      `${waiting.quota} chats for quota, ${waiting.retry} to retry, ${waiting.breaker} for a breaker, ${waiting.slot} for a slot`,
    ),
    line('breakers', breakers.join(' · ')),
  ];
}

/** The same in one line, for what is no terminal. */
export function plainLine(progress: Progress, track: RateTrack): string {
  const { calls, ended, deadLetters, attempts, retries, refusals, inFlight, waiting, elapsedMs, breakers } = progress;
  const unwell = breakers.filter(({ state }) => state !== 'closed').map(({ name, state }) => `${name} ${state}`);
  return [
    `${seconds(elapsedMs).padStart(6)}  ${number(ended).padStart(number(calls).length)}/${number(calls)}`,
    `${Math.round(track.perSecond())}/s`,
    `dead letters ${deadLetters}`,
    `attempts ${number(attempts)} (${retries} retries, ${refusals} refused)`,
    `at Feishu ${inFlight}`,
    `chats waiting: quota ${waiting.quota}, retry ${waiting.retry}, slot ${waiting.slot}`,
    `breakers ${unwell.length === 0 ? 'closed' : unwell.join(', ')}`,
  ].join('  ');
}

/** A label and what belongs to it. */
function line(label: string, text: string): string {
  return `${label.padEnd(labelWidth)}${text}`;
}

/** A count with thousands separated. */
export function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** Milliseconds as people read them. */
export function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : seconds(ms);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function percent(share: number): string {
  return `${Math.floor(share * 100)} %`.padStart(5);
}
