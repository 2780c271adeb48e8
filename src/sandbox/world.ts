import type { FaultBook } from './faults/fault-book.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { SandboxSettings } from './settings.ts';
import type { Bots } from './state/bots.ts';
import type { Consents } from './state/consents.ts';
import type { Limits } from './state/limits.ts';
import type { MessageBook } from './state/message-book.ts';
import type { Replay } from './state/replay.ts';
import type { RequestLog } from './state/request-log.ts';
import type { StoreApps } from './state/store-apps.ts';
import type { Tokens } from './state/tokens.ts';
import type { SandboxClock, SandboxTimers } from './world-ports.ts';

/** Everything a request can change or ask. */
export interface World {
  readonly clock: SandboxClock;
  readonly timers: SandboxTimers;
  readonly tokens: Tokens;
  readonly consents: Consents;
  readonly storeApps: StoreApps;
  readonly limits: Limits;
  readonly replay: Replay;
  readonly ledger: Ledger;
  readonly faults: FaultBook;
  readonly requests: RequestLog;
  readonly messages: MessageBook;
  readonly bots: Bots;
  /** Settings in force; replaced as a whole. */
  settings: SandboxSettings;
  /** Number of the latest effect. It never goes back, so ids stay unique over a reset. */
  seq: number;
  /** Distinguishes the ids of this sandbox from those of another. */
  readonly salt: string;
}
