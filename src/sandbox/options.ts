import type { FaultRule } from './faults/fault-rule.ts';
import type { SandboxSettings } from './settings.ts';
import type { SandboxApp } from './state/tokens.ts';
import type { SandboxClock, SandboxRandom, SandboxTimers } from './world-ports.ts';

/** What the sandbox is started with. Everything has a default. */
export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Apps that may ask for tokens. Default: any; an app is known from then on by the secret it brings first. */
  readonly apps?: readonly SandboxApp[];
  /** Life of a token, milliseconds; default two hours. */
  readonly tokenLifeMs?: number;
  /** How long `uuid` and `client_token` protect, milliseconds; default one hour. */
  readonly replayMs?: number;
  /** What may also be changed at run time. */
  readonly settings?: Partial<SandboxSettings>;
  /** Rules in force from the start. */
  readonly faults?: readonly FaultRule[];
  /** JSON or YAML file with rules, read again whenever it changes; it replaces `faults`. */
  readonly faultsFile?: string;
  /** Effects, requests and posts of bots kept in full; default 1,000 each. */
  readonly details?: number;
  /** Seed of fault decisions and of ids; default 1. The same seed and requests give the same run. */
  readonly seed?: number;
  readonly random?: SandboxRandom;
  readonly clock?: SandboxClock;
  readonly timers?: SandboxTimers;
}
