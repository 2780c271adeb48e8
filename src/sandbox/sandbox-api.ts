import type { Answered } from './events/courier.ts';
import type { EventTarget } from './events/seal.ts';
import type { TrafficPlan, TrafficReport } from './events/traffic.ts';
import type { FaultRule } from './faults/fault-rule.ts';
import type { EffectsReport, Expected, Verdict } from './ledger/ledger.ts';
import type { Links } from './link/links.ts';
import type { SandboxSettings } from './settings.ts';
import type { BotPost } from './state/bots.ts';
import type { BucketFigures } from './state/limits.ts';
import type { LoggedRequest } from './state/request-log.ts';

/** Figures since the start or the last reset. */
interface SandboxStats {
  readonly arrivals: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly connections: { readonly open: number; readonly total: number };
  /** Times an idempotency key was answered from memory. */
  readonly replays: number;
  readonly tokensIssued: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly buckets: readonly BucketFigures[];
  readonly chats: { readonly refusals: number; readonly maxPerSecond: number };
}

/** Rules in force and what they did. */
interface FaultsReport {
  readonly rules: readonly FaultRule[];
  readonly counts: Readonly<Record<string, number>>;
  /** Mistakes in the rules file; while there are any, the rules before them stay in force. */
  readonly fileMistakes: readonly string[];
}

/** A running Feishu emulator. */
export interface Sandbox {
  /** Base URL without a slash at the end. The echo upstream lies under `/echo`. */
  readonly url: string;
  readonly port: number;
  /** Ends all connections, also those of calls that were left without an answer. */
  close(): Promise<void>;
  /** @param last how many of the latest effects to show in full; default 100 */
  effects(last?: number): EffectsReport;
  verdict(expected: Expected): Verdict;
  /** Replaces the rules. Returns the mistakes; if there are any, nothing has changed. */
  setFaults(rules: unknown): readonly string[];
  faults(): FaultsReport;
  /** Changes some settings. Returns the mistakes; if there are any, nothing has changed. */
  configure(settings: unknown): readonly string[];
  settings(): SandboxSettings;
  /** The latest requests, oldest first, without their tokens. @param last default 100 */
  requests(last?: number): LoggedRequest[];
  stats(): SandboxStats;
  /** Revokes live tokens. `stuck`: the token endpoint goes on giving the dead one. Returns how many. */
  revokeTokens(which?: { readonly app?: string; readonly stuck?: boolean }): number;
  /** Custom bots: what they posted lately, oldest first; and the signing secret that one asks for. */
  readonly bots: { posts(): readonly BotPost[]; sign(bot: string, secret: string): void };
  /** Long connections, and how they are treated. */
  readonly links: Pick<Links, 'connected' | 'deliver' | 'drop' | 'setFaults'>;
  /** Sends events to a receiver, as Feishu does. Resolves when each was taken or given up. */
  sendEvents(plan: TrafficPlan): Promise<TrafficReport>;
  /** Asks a receiver to prove itself, as Feishu does when its address is saved. */
  sendChallenge(target: EventTarget, door?: 'events' | 'callbacks'): Promise<Answered & { readonly proved: boolean }>;
  /** Makes a new ticket of a store app and sends it, as Feishu does each hour; from now on also when the app asks for it. */
  sendTicket(target: EventTarget): Promise<Answered>;
  /** Ends the consent of a user and tells the receiver. */
  revokeConsent(target: EventTarget, openId: string): Promise<Answered>;
  /** Presses a button of a card in a chat; resolves with the receiver's answer. */
  pressButton(target: EventTarget, chat: string, value: unknown): Promise<Answered>;
  /** Forgets effects, replay keys, requests, figures and used quota. Tokens, rules, settings and messages stay. */
  reset(): void;
}
