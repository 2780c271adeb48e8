import type { AddressInfo } from 'node:net';

import fastify, { type FastifyInstance } from 'fastify';

import { LarkspurError, messageOf } from '../model/errors.ts';

import { eventSender } from './events/event-sender.ts';
import { FaultBook } from './faults/fault-book.ts';
import { parseRules } from './faults/fault-rule.ts';
import { watchRules } from './faults/watch-rules.ts';
import { controlRoutes } from './http/control.ts';
import { apiRoutes } from './http/routes.ts';
import { Ledger } from './ledger/ledger.ts';
import { Links } from './link/links.ts';
import type { SandboxOptions } from './options.ts';
import type { Sandbox } from './sandbox-api.ts';
import { parseSettings, settingsDefaults } from './settings.ts';
import { Bots } from './state/bots.ts';
import { Consents } from './state/consents.ts';
import { Limits } from './state/limits.ts';
import { MessageBook } from './state/message-book.ts';
import { Replay } from './state/replay.ts';
import { RequestLog } from './state/request-log.ts';
import { StoreApps } from './state/store-apps.ts';
import { Tokens } from './state/tokens.ts';
import { machineClock, machineTimers, type SandboxRandom, seeded } from './world-ports.ts';
import type { World } from './world.ts';

/**
 * Starts the emulator.
 * @throws LarkspurError `config_invalid` for rules or settings with mistakes, `port_in_use` when the port is taken
 */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const random = options.random ?? seeded(options.seed ?? 1);
  const world = createWorld(options, random);
  const server = fastify({
    logger: false,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    bodyLimit: 40 * 1024 * 1024,
    routerOptions: { maxParamLength: 500 },
  });
  const links = new Links({ timers: world.timers, random }, (app, secret) => world.tokens.admits(app, secret));
  const connections = countConnections(server);
  let fileMistakes = (): readonly string[] => [];
  let stopWatching = (): void => undefined;
  let port = 0;
  let url = '';

  const sandbox: Sandbox = {
    get url() {
      return url;
    },
    get port() {
      return port;
    },
    close: async () => {
      stopWatching();
      links.drop();
      await server.close();
    },
    effects: (last = 100) => world.ledger.report(last),
    verdict: (expected) => world.ledger.verdict(expected),
    setFaults: (input) => {
      const { rules, mistakes } = parseRules(input);
      if (rules !== undefined) world.faults.set(rules);
      return mistakes ?? [];
    },
    faults: () => ({ rules: world.faults.rules, counts: world.faults.counts, fileMistakes: fileMistakes() }),
    configure: (input) => {
      const { settings, mistakes } = parseSettings(input);
      if (settings === undefined) return mistakes;
      world.settings = { ...world.settings, ...settings };
      world.limits.rebuild();
      return [];
    },
    settings: () => world.settings,
    requests: (last = 100) => world.requests.last(last),
    stats: () => ({
      arrivals: world.requests.arrivals,
      byStatus: world.requests.byStatus,
      connections: { ...connections },
      replays: world.replay.hits,
      tokensIssued: world.tokens.issued,
      faults: world.faults.counts,
      ...world.limits.figures(),
    }),
    revokeTokens: ({ app, stuck } = {}) => world.tokens.revoke(app === undefined ? {} : { app }, stuck),
    bots: { posts: () => world.bots.posts, sign: (bot, secret) => void world.bots.secrets.set(bot, secret) },
    links,
    ...eventSender({ clock: world.clock, timers: world.timers, random }, links, world),
    reset: () => {
      for (const part of [world.ledger, world.replay, world.requests, world.limits, world.bots]) part.clear();
      world.faults.clearCounts();
    },
  };

  refuse('settings', sandbox.configure(options.settings ?? {}));
  refuse('faults', sandbox.setFaults(options.faults ?? []));
  links.serve(server);
  apiRoutes(server, world);
  controlRoutes(server, sandbox);
  ({ port, url } = await listen(server, options));
  if (options.faultsFile !== undefined) {
    const watch = await watchRules(options.faultsFile, world.timers, parseRules, (rules) => world.faults.set(rules));
    fileMistakes = () => watch.mistakes;
    stopWatching = () => watch.stop();
  }
  return sandbox;
}

function createWorld(options: SandboxOptions, random: SandboxRandom): World {
  const clock = options.clock ?? machineClock;
  const details = options.details ?? 1_000;
  const salt = hex(random, 16);
  const newText = (): string => hex(random, 40);
  const tokens = new Tokens(options.apps, options.tokenLifeMs ?? 7_200_000, clock, newText);
  const world: World = {
    clock,
    timers: options.timers ?? machineTimers,
    tokens,
    consents: new Consents(clock, tokens, newText),
    storeApps: new StoreApps(tokens, newText),
    limits: new Limits(() => world.settings),
    replay: new Replay(options.replayMs ?? 3_600_000),
    ledger: new Ledger(details),
    faults: new FaultBook(random),
    requests: new RequestLog(details),
    messages: new MessageBook(salt),
    bots: new Bots(details),
    settings: settingsDefaults,
    seq: 0,
    salt,
  };
  return world;
}

function hex(random: SandboxRandom, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random.next() * 16).toString(16)).join('');
}

function countConnections(server: FastifyInstance): { open: number; total: number } {
  const connections = { open: 0, total: 0 };
  server.server.on('connection', (socket) => {
    connections.open++;
    connections.total++;
    socket.once('close', () => connections.open--);
  });
  return connections;
}

async function listen(server: FastifyInstance, { host = '127.0.0.1', port = 0 }: SandboxOptions) {
  try {
    const url = await server.listen({ host, port });
    return { url, port: (server.server.address() as AddressInfo).port };
  } catch (error) {
    await server.close();
    throw new LarkspurError('port_in_use', `the sandbox cannot listen on ${host}:${port}: ${messageOf(error)}`, {
      cure: 'choose another port, or 0 for any free one',
      cause: error,
    });
  }
}

function refuse(what: string, mistakes: readonly string[]): void {
  if (mistakes.length === 0) return;
  throw new LarkspurError('config_invalid', `sandbox ${what}: ${mistakes.join('; ')}`, {
    cure: 'src/sandbox/README.md lists what is allowed',
  });
}
