import { retryDefaults } from '../../../src/operators/retry/options.ts';
import { RetryPlan } from '../../../src/operators/retry/retry-plan.ts';
import { Slots } from '../../../src/pipeline/slots.ts';
import type { CallPlan, Profile } from '../../../src/ports/profile.ts';
import { seededRandom } from '../../support/virtual-time.ts';
import { plannedAnew } from '../world/build-house.ts';

import type { Mutant } from './mutant.ts';

function planning(name: string, change: (plan: CallPlan) => CallPlan): Mutant {
  return {
    name,
    destination: (destination) => {
      const { profile } = destination;
      const changed: Profile = {
        plan: (call, id) => {
          const plan = profile.plan(call, id);
          return 'reason' in plan ? plan : change(plan);
        },
        classify: (exchange, plan, wallMs) => profile.classify(exchange, plan, wallMs),
      };
      return { ...destination, profile: changed };
    },
  };
}

/** Slots of which every so manyth release counts twice, or not at all. */
class MiscountedSlots extends Slots {
  readonly #each: number;
  readonly #twice: boolean;
  #releases = 0;
  #spare = 0;

  constructor(limit: number, each: number, twice: boolean) {
    super(limit);
    this.#each = each;
    this.#twice = twice;
  }

  override tryAcquire(): (() => void) | undefined {
    if (this.#spare > 0) {
      this.#spare--;
      return () => undefined;
    }
    const release = super.tryAcquire();
    return release && (() => this.#release(release));
  }

  #release(release: () => void): void {
    if (++this.#releases % this.#each !== 0) release();
    else if (this.#twice) {
      this.#spare++;
      release();
    }
  }
}

let keys = 0;
let sharedSlots: Slots | undefined;

/** Bugs at the door of an upstream. */
export const upstreamMutants: readonly Mutant[] = [
  planning('repeats a call without a key whose outcome is unknown', (plan) =>
    plan.repeat.kind === 'never' ? plannedAnew(plan, { kind: 'always' }, () => plan.request()) : plan,
  ),
  planning('makes a new key for each attempt', (plan) =>
    plannedAnew(plan, plan.repeat, () => {
      const request = plan.request();
      if (request.headers['idempotency-key'] !== undefined)
        return { ...request, headers: { ...request.headers, 'idempotency-key': `k${keys++}` } };
      if (request.body === undefined) return request;
      const body = JSON.parse(request.body.toString()) as Readonly<Record<string, unknown>>;
      return { ...request, body: Buffer.from(JSON.stringify({ ...body, uuid: `k${keys++}` })) };
    }),
  ),
  planning('trusts a key for ever', (plan) =>
    plan.repeat.kind === 'keyed'
      ? plannedAnew(plan, { kind: 'keyed', windowMs: Infinity }, () => plan.request())
      : plan,
  ),
  {
    name: 'releases a slot twice',
    destination: (destination) => ({
      ...destination,
      slots: new MiscountedSlots(destination.slots.limit, 3, true),
    }),
  },
  {
    name: 'lets upstreams share their slots',
    destination: (destination) => {
      if (destination.name === 'feishu') sharedSlots = destination.slots;
      return { ...destination, slots: sharedSlots ?? destination.slots };
    },
  },
  {
    name: 'leaks a slot',
    destination: (destination) => ({
      ...destination,
      slots: new MiscountedSlots(destination.slots.limit, 7, false),
    }),
  },
  {
    name: "leaks a breaker's permit when an attempt is refused",
    destination: (destination) => {
      const { breakers } = destination;
      const get = breakers?.get.bind(breakers);
      if (breakers === undefined || get === undefined) return destination;
      breakers.get = (key) => {
        const breaker = get(key);
        breaker.release = () => undefined;
        return breaker;
      };
      return destination;
    },
  },
  {
    name: 'forgets a refusal',
    destination: (destination) => {
      destination.limiter.refused = () => false;
      return destination;
    },
  },
  {
    name: 'does not count against the quota',
    destination: (destination) => {
      destination.limiter.take = () => ({ kind: 'granted', grant: { atMs: 0, stamp: undefined } });
      return destination;
    },
  },
  {
    name: 'gives up after two attempts',
    destination: (destination) => ({
      ...destination,
      retry: new RetryPlan({ ...retryDefaults, maxAttempts: 2 }, seededRandom(1)),
    }),
  },
];
