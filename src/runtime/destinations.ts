import { defaultIfEmpty, firstValueFrom, forkJoin, merge, ReplaySubject } from 'rxjs';

import { FeishuTokens, type FeishuTokensOptions } from '../adapters/feishu/tokens.ts';
import { OriginPool } from '../adapters/http/pools.ts';
import { TargetedUpstream } from '../adapters/http/targets.ts';
import { HttpUpstream } from '../adapters/http/upstream.ts';
import type { Config, UpstreamConfig } from '../config/config.ts';
import { coverOf } from '../config/describe.ts';
import type { Cover } from '../model/cover.ts';
import { Bulkhead } from '../operators/bulkhead/bulkhead.ts';
import { FaultyUpstream, type InjectedFaults } from '../operators/fault/faulty-upstream.ts';
import { after } from '../operators/interop/after.ts';
import { SharedLimiter } from '../operators/limit/shared-limiter.ts';
import { TargetChoice } from '../operators/targets/target-choice.ts';
import { DeadLetterBrake } from '../pipeline/dead-letter-brake.ts';
import type { Destination } from '../pipeline/destination.ts';
import { OwnOperators } from '../pipeline/own-operators.ts';
import { placesAtDoor, Slots } from '../pipeline/slots.ts';
import type { AnswerCache } from '../ports/answer-cache.ts';
import type { Clock, Timers } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { OwnOperator } from '../ports/own-operator.ts';
import type { QuotaLog } from '../ports/quota-log.ts';
import type { Random } from '../ports/random.ts';
import type { Upstream } from '../ports/upstream.ts';

import { apiGroup } from './api-group.ts';
import { budgetsOf, replaceBudgets } from './budgets.ts';
import { type Grouped, policiesOf, prefixOf, type Replaceable, replacePolicies } from './policies.ts';
import { profileOf } from './profiles.ts';

/** The upstreams of a process, with the sockets to them. */
export interface Destinations {
  readonly byName: ReadonlyMap<string, Destination>;
  /** Builds those that are new and returns them; the others stay as they are. */
  add(upstreams: Config['upstreams']): readonly Destination[];
  /** Replaces the policies of those that are known and configured otherwise now; tells which, and what waits for a restart. */
  replace(upstreams: Config['upstreams']): readonly Replaced[];
  /** Waits for `stopping`, then for questions for tokens, those for no longer than 10 s from now, and closes all sockets. */
  closeAfter(stopping: Promise<unknown>): Promise<void>;
}

/** A destination whose configuration has changed. */
export interface Replaced {
  readonly destination: Destination;
  readonly replaced: readonly string[];
  readonly waiting: readonly string[];
  /** Names of the breakers that it no longer has. */
  readonly breakersBefore: readonly string[];
}

/** What a destination takes from the process. */
export interface DestinationParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly quota: QuotaLog;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** The modules of `use`, by file URL. */
  readonly own: ReadonlyMap<string, OwnOperator>;
  /** Last good answers of an upstream. */
  readonly answers: (upstream: string) => AnswerCache;
  /** Faults that attempts meet on purpose; absent: none ever. */
  readonly faults?: Pick<InjectedFaults, 'decide'>;
  /** What processes have in common about tokens. */
  readonly shared?: FeishuTokensOptions['shared'];
}

// Longer than a question to the platform may take.
const tokenLimitMs = 10_000;

/** Builds every configured upstream: its own sockets, breakers, limits, budget and slots. */
export function createDestinations(config: Config, parts: DestinationParts): Destinations {
  const processSlots = new Slots(config.worker.inFlight);
  const cover = coverOf(config);
  const pools = new Map<string, readonly OriginPool[]>();
  const byName = new Map<string, Destination & Grouped>();
  const configs = new Map<string, UpstreamConfig>();
  const tokens = new Map<string, FeishuTokens>();
  parts.metrics.gauge('larkspur_tokens', 'Tokens kept in this process', ['upstream'], () =>
    [...tokens].map(([upstream, { kept }]) => [{ upstream }, kept] as const),
  );
  const add = (upstream: UpstreamConfig): Destination => {
    const open = (place: string, { connections, timeouts, targets }: UpstreamConfig): readonly OriginPool[] => {
      const options = { connections, connectTimeoutMs: timeouts.connectMs };
      const opened = targets.map((url) => new OriginPool(url, options, parts.clock));
      pools.set(place, opened);
      return opened;
    };
    const ofGroup = (group: string, policies: UpstreamConfig) => open(`${upstream.name}/${group}`, policies);
    const own = open(upstream.name, upstream);
    const destination = destinationOf(upstream, config, cover, own, ofGroup, processSlots, parts);
    if (destination.tokens !== undefined) tokens.set(upstream.name, destination.tokens);
    byName.set(upstream.name, destination);
    configs.set(upstream.name, upstream);
    return destination;
  };
  Object.values(config.upstreams).forEach(add);
  return {
    byName,
    add: (upstreams) =>
      Object.values(upstreams)
        .filter(({ name }) => !byName.has(name))
        .map(add),
    replace: (upstreams) =>
      Object.values(upstreams).flatMap((after) => {
        const [destination, before] = [byName.get(after.name), configs.get(after.name)];
        if (destination === undefined || before === undefined) return [];
        configs.set(after.name, after);
        const keys = [...(destination.breakers?.entries() ?? [])].map(([key]) => key);
        const change = replacePolicies(
          destination,
          [before, after],
          config.apps,
          parts.random,
          pools.get(after.name) ?? [],
          (group) => pools.get(`${after.name}/${group}`) ?? [],
        );
        replaceBudgets(destination, [before, after], parts.quota);
        const breakersBefore = change.replaced.some((what) => /(^|\.)breaker$/.test(what)) ? keys : [];
        return change.replaced.length + change.waiting.length === 0 ? [] : [{ destination, ...change, breakersBefore }];
      }),
    closeAfter: async (stopping) => {
      // Counted beside the drain: after it, both together would outlast the patience of who stops the process.
      const late$ = new ReplaySubject<true>(1);
      const counting = after(parts.timers, tokenLimitMs).subscribe(late$);
      await stopping;
      const drained$ = forkJoin([...tokens.values()].map((one) => one.drained()));
      await firstValueFrom(merge(drained$.pipe(defaultIfEmpty([])), late$), { defaultValue: undefined });
      counting.unsubscribe();
      await Promise.all([...pools.values()].flat().map((pool) => pool.close()));
    },
  };
}

function destinationOf(
  upstream: UpstreamConfig,
  { apps }: Config,
  cover: Cover,
  pools: readonly OriginPool[],
  poolsOfGroup: (group: string, policies: UpstreamConfig) => readonly OriginPool[],
  processSlots: Slots,
  { clock, timers, random, metrics, quota, answers, shared, own, log, faults }: DestinationParts,
): Destination & Grouped & { readonly tokens: FeishuTokens | undefined } {
  const { name, baseUrl, retry } = upstream;
  const { maxResponseBytes, targets } = upstream;
  const choice = new TargetChoice(targets.length, random);
  const senderAt = (pool: OriginPool): Upstream => {
    const plain = new HttpUpstream(pool, { maxResponseBytes });
    if (faults === undefined) return plain;
    return new FaultyUpstream(plain, { upstream: name, host: new URL(pool.origin).host }, faults, timers);
  };
  const senderOver = (some: readonly OriginPool[]): Upstream => {
    const senders = some.map(senderAt);
    const [only, ...others] = senders;
    return only !== undefined && others.length === 0 ? only : new TargetedUpstream(senders, choice, clock);
  };
  const sender = senderOver(pools);
  const groups = new Map<string, Destination & Replaceable>();
  const width = (): number => destination.width.limit;
  const destination: ReturnType<typeof destinationOf> = {
    name,
    place: name,
    groups,
    profile: profileOf(upstream, apps),
    upstream: sender,
    targets: (nowMs) =>
      targets.length === 1 ? [] : choice.views(nowMs).map((view, index) => ({ url: targets[index] ?? '', ...view })),
    tokens:
      upstream.profile === 'feishu'
        ? new FeishuTokens({
            apps,
            upstream: sender,
            pathPrefix: prefixOf(baseUrl),
            ...{ clock, timers, random, metrics },
            ...(shared === undefined ? {} : { shared }),
          })
        : undefined,
    cover,
    limiter: new SharedLimiter({ log: quota, clock, timers }),
    ...policiesOf(upstream, apps, random),
    budget: budgetsOf(retry, quota),
    brake: new DeadLetterBrake(),
    own: ownOperators(upstream, own, log),
    answers: answers(name),
    policies: 0,
    slots: new Slots(width, processSlots),
    working: new Bulkhead({ limit: () => placesAtDoor(width()) }),
    bulkSpreadMs: upstream.bulkSpreadMs,
    bucketLimit: upstream.bucketConcurrency,
  };
  for (const { name: group, policies } of upstream.groups) {
    const to = senderOver(poolsOfGroup(group, policies));
    groups.set(group, apiGroup(destination, { name: group, policies }, to, { processSlots, random, quota }));
  }
  return destination;
}

function ownOperators({ use }: UpstreamConfig, known: DestinationParts['own'], log: Logger): OwnOperators | undefined {
  const operators = use.flatMap((module) => known.get(module) ?? []);
  return operators.length === 0 ? undefined : new OwnOperators(operators, log);
}
