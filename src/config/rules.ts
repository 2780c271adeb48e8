import { isReservedHeader } from '../model/call.ts';
import { isTree } from '../model/schema-words.ts';

import type { Mistake } from './mistake.ts';
import { notAbove, type Report } from './not-above.ts';
import { groupRules, keysOf, limitKeys, policyRules } from './policy-rules.ts';
import { profileRules } from './profiles.ts';
import { routeTableRules } from './route-table.ts';
import { routeTargets } from './routes.ts';
import type { RawUpstream } from './schema-upstream.ts';
import type { RawConfig } from './schema.ts';
import { sloRules } from './slo-rules.ts';
import { targetRules } from './target-rules.ts';
import { type Path } from './tree.ts';

/**
 * Rules between values, which a schema cannot say.
 * @param config complete, without what the schema found wrong
 * @param written as it was written: what stands there with a mistake is not also called missing
 */
export function ruleMistakes(config: RawConfig, written: unknown): Mistake[] {
  const mistakes: Mistake[] = [];
  const report: Report = (path, message) => mistakes.push({ path, message });
  const names = isTree(written) ? written : {};

  if (names['kafka'] !== undefined && names['redis'] === undefined) {
    report(['redis'], 'is missing: with Kafka the claims live in Redis, give redis.url');
  }
  if (isTree(names['kafka']) && names['kafka']['brokers'] === undefined) {
    report(['kafka', 'brokers'], 'is missing, must be a list of host:port');
  }
  if (isTree(names['redis']) && names['redis']['url'] === undefined) {
    report(['redis', 'url'], 'is missing, must be a redis:// or rediss:// address');
  }
  if (isTree(names['tracing']) && names['tracing']['endpoint'] === undefined) {
    report(['tracing', 'endpoint'], 'is missing, must be the http:// or https:// address of a collector');
  }
  for (const [index, name] of (config.tracing?.withheldFrom ?? []).entries()) {
    if (Object.hasOwn(config.upstreams ?? {}, name)) continue;
    report(['tracing', 'withheldFrom', index], `names ${name}, which is no upstream`);
  }
  if (config.chaos?.faultsFile !== undefined && config.chaos.injectFaults !== true) {
    report(['chaos', 'faultsFile'], 'is not looked at unless chaos.injectFaults is true');
  }
  if (config.previousTokenKey !== undefined && names['tokenKey'] === undefined) {
    report(['previousTokenKey'], 'is of no use alone: it only opens what was sealed before, give tokenKey, too');
  }
  hosts(config, report);
  apps(config, report);
  clients(config, report);
  routes(config, report);
  routeTableRules(config, report);
  profileRules(config, report);
  sizes(config, report);
  for (const [name, upstream] of Object.entries(config.upstreams ?? {})) {
    const own = isTree(names['upstreams']) ? names['upstreams'][name] : undefined;
    upstreamRules(['upstreams', name], upstream, isTree(own) ? own : {}, report);
  }
  return mistakes;
}

function hosts(config: RawConfig, report: Report): void {
  const { sasl, ssl } = config.kafka ?? {};
  if (typeof ssl === 'object' && (ssl.certFile === undefined) !== (ssl.keyFile === undefined)) {
    const [missing, given] = ssl.certFile === undefined ? ['certFile', 'keyFile'] : ['keyFile', 'certFile'];
    report(['kafka', 'ssl', missing], `is missing: ${given} is of no use alone`);
  }
  for (const key of ['mechanism', 'username', 'password'] as const) {
    if (sasl !== undefined && sasl[key] === undefined) report(['kafka', 'sasl', key], 'is missing');
  }
  for (const key of ['ingress', 'admin'] as const) {
    const address = config.listen?.[key] ?? '';
    const at = ['listen', key];
    if (address === '') continue;
    if (!/^(127\.|localhost:|\[::1\]:)/.test(address) && config.adminToken === undefined) {
      report(at, `is ${address}, reachable from other machines: that needs adminToken (or LARKSPUR_ADMIN_TOKEN)`);
    }
  }
  const { ingress, admin } = config.listen ?? {};
  if (ingress !== undefined && ingress === admin && !ingress.endsWith(':0')) {
    report(['listen', 'admin'], `is ${admin}, the same as listen.ingress`);
  }
}

function apps(config: RawConfig, report: Report): void {
  const seen = new Set<string>();
  for (const [index, { id }] of (config.apps ?? []).entries()) {
    if (seen.has(id)) report(['apps', index, 'id'], `is ${id}, which stands in the list before`);
    seen.add(id);
  }
  for (const [index, { kind, oauth, longConnection }] of (config.apps ?? []).entries()) {
    if (kind === 'store' && longConnection === true) {
      report(['apps', index, 'longConnection'], 'is not offered by Feishu to a store app');
    }
    const why =
      kind === 'store' ? 'its tickets are kept' : oauth === undefined ? undefined : 'tokens of users are kept';
    if (why !== undefined && config.tokenKey === undefined) report(['apps', index], `needs tokenKey: ${why} sealed`);
  }
  const { maxAgeMs, dedupeMs } = config.events ?? {};
  // A signature that outlives the memory of its event could be sent again.
  notAbove(report, ['events', 'maxAgeMs'], maxAgeMs, 'events.dedupeMs', dedupeMs);
}

function clients({ clients: all = [], apps: known = [], upstreams = {}, adminToken }: RawConfig, report: Report): void {
  const names = new Set<string>();
  const tokens = new Set([adminToken]);
  for (const [index, { name, token, apps: own = [], upstreams: called = [] }] of all.entries()) {
    const at: Path = ['clients', index];
    if (names.has(name)) report([...at, 'name'], `is ${name}, which stands in the list before`);
    if (tokens.has(token)) report([...at, 'token'], 'is the token of somebody else, too');
    names.add(name);
    tokens.add(token);
    for (const app of own) {
      if (!known.some(({ id }) => id === app)) report([...at, 'apps'], `names ${app}, which is no id of apps`);
    }
    for (const upstream of called) {
      if (!Object.hasOwn(upstreams, upstream)) report([...at, 'upstreams'], `names ${upstream}, which is no upstream`);
    }
  }
}

function routes(config: RawConfig, report: Report): void {
  const names = new Set<string>();
  for (const [index, route] of (config.routes ?? []).entries()) {
    const at: Path = ['routes', index];
    const targets = routeTargets.filter((target) => route[target] !== undefined);
    if (targets.length !== 1) {
      report(at, `leads to ${targets.join(' and ') || 'nothing'}, must have one of ${routeTargets.join(', ')}`);
    }
    if (route.name !== undefined && names.has(route.name)) {
      report([...at, 'name'], `is ${route.name}, which stands in the list before`);
    }
    if (route.name !== undefined) names.add(route.name);
    if (route.slo !== undefined) sloRules([...at, 'slo'], route.slo, report);
    if (route.app !== undefined && !(config.apps ?? []).some(({ id }) => id === route.app)) {
      report([...at, 'app'], `is ${route.app}, which is not among apps`);
    }
  }
}

function sizes(config: RawConfig, report: Report): void {
  const { ring, claims } = config.worker ?? {};
  const at = (key: string): Path => ['worker', 'ring', key];
  notAbove(report, at('lowItems'), ring?.lowItems, 'worker.ring.highItems', ring?.highItems);
  notAbove(report, at('highItems'), ring?.highItems, 'worker.ring.capacity', ring?.capacity);
  notAbove(report, at('lowBytes'), ring?.lowBytes, 'worker.ring.highBytes', ring?.highBytes);
  notAbove(report, at('highBytes'), ring?.highBytes, 'worker.ring.totalBytes', ring?.totalBytes);
  const { replicas = 0, replicasWaitMs = 0, timeoutMs = Infinity } = config.redis ?? {};
  // That the replicas are too few would always be heard too late, and look like a Redis that is away.
  if (replicas > 0 && replicasWaitMs >= timeoutMs) {
    report(['redis', 'replicasWaitMs'], `is ${replicasWaitMs}, must be below redis.timeoutMs (${timeoutMs})`);
  }
  const half = claims?.leaseMs === undefined ? undefined : claims.leaseMs / 2;
  notAbove(report, ['worker', 'claims', 'renewMs'], claims?.renewMs, 'half of worker.claims.leaseMs', half);
}

function upstreamRules(at: Path, upstream: RawUpstream, own: object, report: Report): void {
  const written: RawUpstream = own;
  if (upstream.baseUrl === undefined && !('baseUrl' in own) && !('targets' in own)) {
    report([...at, 'baseUrl'], 'is missing, must be an http:// or https:// address');
  }
  if (upstream.cache !== undefined && upstream.cache.ttlMs === undefined) {
    report([...at, 'cache', 'ttlMs'], 'is missing: how old an answer may be depends on what it tells');
  }
  if (upstream.slo !== undefined) sloRules([...at, 'slo'], upstream.slo, report);
  targetRules(at, own, report);
  const { header } = upstream.idempotencyKey ?? {};
  if (upstream.idempotencyKey !== undefined && upstream.profile === 'feishu') {
    report([...at, 'idempotencyKey'], 'is only for profile http: which API of Feishu takes which key is known');
  }
  if (header !== undefined && (isReservedHeader(header) || header.toLowerCase() === 'content-type')) {
    report([...at, 'idempotencyKey', 'header'], `is ${header}, which has its own meaning: name one for the key alone`);
  }
  if (upstream.batching === true && upstream.profile !== 'feishu') {
    report(
      [...at, 'batching'],
      'is only for profile feishu: of other upstreams nobody knows what answers many at once',
    );
  }
  if (upstream.batching === true && (upstream.use ?? []).length > 0) {
    report([...at, 'batching'], 'does not go with use: its modules see one call per request');
  }
  policyRules(at, upstream, written.breaker, report);
  groupRules(at, upstream, written, report);
  for (const [index, limit] of (upstream.limits ?? []).entries()) {
    const keys = keysOf(limit);
    if (!limitKeys.has(keys)) {
      report(
        [...at, 'limits', index],
        `has ${keys || 'nothing'}, must be { perSecond }, { perMinute } or { limit, windowMs }`,
      );
    }
  }
}
