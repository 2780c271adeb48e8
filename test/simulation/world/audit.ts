import { deadLetterReasons, type DeadLetterHistory } from '../../../src/model/dead-letter.ts';
import type { HeldState } from '../../../src/model/held.ts';
import type { InRecord } from '../../../src/model/record.ts';
import type { Result } from '../../../src/model/result.ts';
import { retryDefaults } from '../../../src/operators/retry/options.ts';
import type { PlannedCall } from '../plan.ts';

import { type Attempt, Attempts } from './attempts.ts';
import { coveredBy } from './covered.ts';
import type { Committed } from './group.ts';
import { nameOf, type Place } from './topics.ts';
import type { World } from './world.ts';

/** A promise that was broken. */
export interface Violation {
  readonly guarantee: 'G1' | 'G2' | 'G3' | 'G4' | 'G5' | 'G6' | 'G7' | 'G8' | 'G9';
  readonly what: string;
  readonly atMs: number;
}

interface Entry {
  readonly call: PlannedCall;
  readonly origin: string;
  readonly partition: number;
  readonly offset: number;
  readonly producedMs: number;
  ending: string | undefined;
  /** Records that stand for it and are not committed. */
  readonly open: Set<string>;
  /** How often it was written to a delay topic. */
  holds: number;
}

/** Joining the group, and the documented rate of a chat, may take this long. */
const sparedMs = 10_000;

const cancelledEnding = 'cancelled/default/-';

/** A call that comes back before its wait is over goes round at the speed of the broker. */
const mostHolds = 300;

interface Effects {
  count: number;
  lastMs: number;
}

/** Checks G1 to G9 while the world runs and when it has come to rest. The first broken promise ends the run. */
export class Audit {
  readonly attempts: Attempts;
  violation: Violation | undefined;
  readonly #world: World;
  readonly #byOrigin = new Map<string, Entry>();
  readonly #byPlace = new Map<string, Entry>();
  readonly #byId = new Map<string, Entry[]>();
  readonly #effects = new Map<string, Effects>();
  readonly #furthestEffect = new Map<string, number>();
  #open = 0;

  constructor(world: World) {
    this.#world = world;
    this.attempts = new Attempts(world);
  }

  /** Records without an ending. */
  get open(): number {
    return this.#open;
  }

  get effects(): number {
    let sum = 0;
    for (const { count } of this.#effects.values()) sum += count;
    return sum;
  }

  fail(guarantee: Violation['guarantee'], what: string): void {
    this.violation ??= { guarantee, what, atMs: this.#world.clock.now() };
  }

  callOf(id: string): PlannedCall | undefined {
    return this.#byId.get(id)?.[0]?.call;
  }

  /** Lane and offset of a call; `undefined` without a key, and for ids that stand in several lanes. */
  placeOf(id: string): { readonly lane: string; readonly offset: number } | undefined {
    const entries = this.#byId.get(id) ?? [];
    const [first] = entries;
    if (first === undefined || first.call.key === null) return undefined;
    if (entries.some(({ call }) => call.key !== first.call.key)) return undefined;
    return { lane: `${first.partition}/${first.call.key}`, offset: first.offset };
  }

  produced(call: PlannedCall, { partition, offset }: InRecord, origin: string): void {
    const producedMs = this.#world.clock.now();
    const name = `${nameOf({ topic: 'calls', partition })}/${offset}`;
    const entry: Entry = {
      call,
      origin,
      partition,
      offset,
      producedMs,
      ending: undefined,
      open: new Set([name]),
      holds: 0,
    };
    this.#byOrigin.set(origin, entry);
    this.#byPlace.set(name, entry);
    const id = call.kind === 'poison' || call.kind === 'tombstone' ? origin : call.id;
    const same = this.#byId.get(id);
    if (same === undefined) this.#byId.set(id, [entry]);
    else same.push(entry);
    if (call.kind === 'tombstone') entry.ending = 'skipped';
    else this.#open++;
  }

  /** An effect at the upstream. */
  effect(attempt: Attempt): void {
    const { id } = attempt;
    const { clock, claims } = this.#world;
    const effects = this.#effects.get(id) ?? { count: 0, lastMs: 0 };
    effects.count++;
    effects.lastMs = clock.now();
    this.#effects.set(id, effects);
    const repeat = this.attempts.planOf(id)?.repeat.kind;
    // What the claims' server forgot is nobody's fault once the key is forgotten, too, unless this very visit knows it.
    const known = this.attempts
      .of(id)
      .some((other) => other !== attempt && !other.clean && other.visit === attempt.visit);
    if (effects.count > 1 && repeat !== 'always' && (known || !claims.forgotten.has(id)))
      this.fail('G2', `${id} took effect twice${repeat === 'keyed' ? ' in spite of its key' : ''}`);
    if (this.#byId.get(id)?.some(({ ending }) => ending === cancelledEnding) === true) this.#cancelled(id);
    const place = this.placeOf(id);
    if (place === undefined || effects.count > 1) return;
    const furthest = this.#furthestEffect.get(place.lane) ?? -1;
    if (place.offset >= furthest) this.#furthestEffect.set(place.lane, place.offset);
    else if (!this.#mayActLate(id))
      this.orderBroken(place.lane, `${id} (offset ${place.offset}) took effect after offset ${furthest}`);
  }

  /** Order is nobody's to keep where the claims' server forgot who was at it. */
  orderBroken(lane: string, what: string): void {
    const { forgotten } = this.#world.claims;
    for (const id of forgotten) if (this.placeOf(id)?.lane === lane) return;
    this.fail('G3', `lane ${lane}: ${what}`);
  }

  result(result: Result): void {
    const { id, origin, status, source, response, attempts } = result;
    this.#ends(origin, `${status}/${source}/${response?.status ?? '-'}`);
    if (status === 'fallback') this.fail('G8', `${id} was answered by a fallback that nobody declared`);
    if (source === 'default') {
      this.#cancelled(id);
      return;
    }
    if (attempts.length === 0) this.fail('G8', `the result of ${id} tells of no attempt`);
    if (!this.#effects.has(id)) this.fail('G2', `${id} has the result ${status}, but nothing took effect`);
  }

  /** A call ends as cancelled, or as the duplicate of one that did: nothing of it may have taken effect that matters. */
  #cancelled(id: string): void {
    const { canceller, claims } = this.#world;
    if (!canceller.asked.has(id)) this.fail('G9', `${id} ended as cancelled, and nobody has cancelled it`);
    const isHarmless = this.attempts.planOf(id)?.repeat.kind === 'always' || claims.forgotten.has(id);
    if (this.#effects.has(id) && !isHarmless) this.fail('G9', `${id} is said to be cancelled, and took effect`);
  }

  deadLetter(origin: string, { id, reason, message }: DeadLetterHistory, attempts: number): void {
    this.#ends(origin, `dead/${reason}`);
    const call = this.#byOrigin.get(origin)?.call;
    if (call === undefined) return;
    if (message === '' || !deadLetterReasons.includes(reason)) this.fail('G8', `${origin} does not say why it ended`);
    if (call.kind !== 'poison' && id !== call.id) this.fail('G8', `${origin} ended under the id ${id ?? '-'}`);
    const tries = call.retry ? retryDefaults.maxAttempts : 1;
    if (reason === 'attempts_exhausted' && attempts < tries)
      this.fail('G7', `${call.id} was given up after ${attempts} of ${tries} attempts`);
    if (reason === 'deadline_passed' && call.ttlMs === undefined)
      this.fail('G7', `${call.id} was given up as too late, and has no deadline`);
  }

  /** A call is in a delay topic: one more record that stands for it. */
  held(record: InRecord, state: HeldState | undefined): void {
    const entry = this.#byOrigin.get(state?.origin ?? '');
    const name = `${nameOf(record)}/${record.offset}`;
    if (entry === undefined) {
      this.fail('G1', `${name} holds a call that nobody wrote`);
      return;
    }
    this.#byPlace.set(name, entry);
    entry.open.add(name);
    entry.holds++;
    if (entry.holds > mostHolds) this.fail('G6', `${entry.call.id} goes round its delay topics`);
  }

  /** A commit is stored: it may go forward only, and only over what has its ending or waits in another record. */
  committed(place: Place, before: Committed | undefined, after: Committed): void {
    const was = coveredBy(before);
    const is = coveredBy(after);
    for (let offset = 0; offset < this.#world.topics.end(place); offset++) {
      const name = `${nameOf(place)}/${offset}`;
      const covered = is(offset);
      const entry = this.#byPlace.get(name);
      if (entry === undefined) continue;
      if (covered) entry.open.delete(name);
      if (covered && entry.ending === undefined && entry.open.size === 0)
        this.fail('G1', `${name} (${entry.call.id}) is committed and has no ending`);
      if (!covered && was(offset)) this.fail('G1', `${name} was committed as done and is so no more`);
    }
  }

  /** When all is over. */
  atRest(): void {
    for (const { origin, ending, call } of this.#byOrigin.values())
      if (ending === undefined) this.fail('G1', `${call.id} (${origin}) has no ending`);
  }

  /** G5: calls of an upstream that is well wait for nobody else. */
  checkIsolation(): void {
    const { spared } = this.#world.plan;
    if (spared === undefined) return;
    const nowMs = this.#world.clock.now();
    for (const { call, ending, producedMs } of this.#byOrigin.values()) {
      const upstream = call.kind === 'post' || call.kind === 'get' ? 'news' : 'feishu';
      if (upstream === spared && ending === undefined && nowMs - producedMs > sparedMs)
        this.fail('G5', `${call.id} has waited for ${sparedMs} ms while only the other upstream is sick or full`);
    }
  }

  #ends(origin: string, ending: string): void {
    const entry = this.#byOrigin.get(origin);
    if (entry === undefined) {
      this.fail('G1', `an ending came for ${origin}, which nobody wrote`);
      return;
    }
    if (entry.ending === undefined) this.#open--;
    else if (entry.ending !== ending && !this.#world.claims.forgotten.has(entry.call.id))
      this.fail('G1', `${entry.call.id} (${origin}) ended as ${entry.ending} and as ${ending}`);
    entry.ending ??= ending;
  }

  /** A call that was reported as unknown, or is given up, or a cancelled read, may still act while its request is on its way. */
  #mayActLate(id: string): boolean {
    return this.#byId.get(id)?.some(({ ending }) => ending === cancelledEnding || ending?.startsWith('dead/')) === true;
  }
}
