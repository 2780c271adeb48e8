import { CustomBot } from '../../adapters/feishu/custom-bot.ts';
import { transportFailure } from '../../adapters/http/errors.ts';
import { DeploymentScale } from '../../adapters/kubernetes/deployment.ts';
import { runCommand } from '../../adapters/system/command.ts';
import { type Post, post } from '../../adapters/system/post.ts';
import type { PlaybookStep } from '../../config/playbooks.ts';
import { LarkspurError } from '../../model/errors.ts';
import type { WorldParts } from '../stores.ts';

/** What a run is about, for those who are told. */
export interface Occasion {
  readonly playbook: string;
  /** The condition in words. */
  readonly when: string;
  readonly value: number | undefined;
}

/** One step, ready to be taken. */
export interface Action {
  /** What it does, in words that hold no secret. The same in a rehearsal. */
  readonly says: string;
  /** Whether one process of the fleet is enough: it acts outside of this one. */
  readonly once: boolean;
  /** Takes the step. Resolves with what takes it back, if anything does. Rejects with why it could not be taken. */
  take(occasion: Occasion): Promise<((occasion: Occasion) => Promise<string>) | undefined>;
}

/** What steps act on within this process. */
export interface Hands {
  /** Puts values over the configuration; returns what takes them off again. @throws LarkspurError when it does not fit */
  overlay(playbook: string, values: Readonly<Record<string, unknown>>): () => void;
  /** Holds all breakers of an upstream open; returns what puts them as they were. */
  isolate(upstream: string, by: string): () => void;
  /** No call to an upstream begins; returns what lets them go on. */
  pause(upstream: string, by: string): () => void;
  /** Makes faults on purpose for a time; returns what ends them before. Rejects where this process must not. */
  disturb(rules: readonly unknown[], forMs: number, by: string): Promise<() => Promise<void>>;
}

const timeoutMs = 5_000;

/** Makes a step ready. Exactly one of its actions is there, as was checked. */
export function actionOf(step: PlaybookStep, hands: Hands, parts: WorldParts): Action {
  const { config, isolate, pause, alert, scale, disturb, says } = step;
  if (config !== undefined) return { says, ...configAction(config, hands) };
  if (isolate !== undefined)
    return { says, ...heldAction(`no longer isolate ${isolate}`, (by) => hands.isolate(isolate, by)) };
  if (pause !== undefined) return { says, ...heldAction(`no longer pause ${pause}`, (by) => hands.pause(pause, by)) };
  if (alert !== undefined) return { says, ...alertAction(alert, parts) };
  if (scale !== undefined) return { says, ...scaleAction(scale, step.filled) };
  if (disturb !== undefined) return { says, ...disturbAction(disturb, hands) };
  throw new LarkspurError('internal', 'a step of a playbook does nothing');
}

type Act = Omit<Action, 'says'>;

function configAction(values: Readonly<Record<string, unknown>>, hands: Hands): Act {
  return {
    once: false,
    take: ({ playbook }) => {
      const off = hands.overlay(playbook, values);
      return Promise.resolve(() => {
        off();
        return Promise.resolve(`took back ${Object.keys(values).join(', ')}`);
      });
    },
  };
}

function heldAction(ended: string, hold: (by: string) => () => void): Act {
  return {
    once: false,
    take: ({ playbook }) => {
      const letGo = hold(`playbook ${playbook}`);
      return Promise.resolve(() => {
        letGo();
        return Promise.resolve(ended);
      });
    },
  };
}

function alertAction(
  { feishu, http, text, link, whenOver }: NonNullable<PlaybookStep['alert']>,
  parts: WorldParts,
): Act {
  const bot =
    feishu === undefined
      ? undefined
      : new CustomBot({ webhook: feishu.webhook, secret: feishu.secret, post: postOnce('the bot'), ...parts });
  const send = async (words: string, occasion: Occasion, over: boolean): Promise<void> => {
    const filled = fill(words, occasion);
    const title = `${over ? 'Over' : 'Larkspur'}: ${occasion.playbook}`;
    if (bot !== undefined) await bot.send({ title, text: filled, link });
    else if (http !== undefined) {
      const body = JSON.stringify({ ...occasion, over, text: filled, link });
      const { status } = await postOnce('the receiver')(http.webhook, body, http.headers ?? {}, timeoutMs);
      if (status >= 300) throw new LarkspurError('bad_request', `the receiver answered HTTP ${status}`);
    }
  };
  return {
    once: true,
    take: async (occasion) => {
      await send(text, occasion, false);
      if (whenOver === undefined) return undefined;
      return async (then) => {
        await send(whenOver, then, true);
        return `told ${feishu === undefined ? 'the HTTP receiver' : 'the Feishu bot'} that it is over`;
      };
    },
  };
}

// Then nothing was sent.
const unsent: ReadonlySet<string> = new Set(['refused', 'dns', 'connect-timeout', 'tls', 'certificate']);

/** {@link post} that tells whom it has not reached (`upstream_unavailable`) from who may have the message (`no_answer`). */
export function postOnce(who: string): Post {
  return async (...to) => {
    try {
      return await post(...to);
    } catch (error) {
      const { failure, message } = transportFailure(error);
      const code = unsent.has(failure) ? 'upstream_unavailable' : 'no_answer';
      throw new LarkspurError(code, `${who} did not answer: ${message}`, { cause: error });
    }
  };
}

function fill(text: string, { playbook, when, value }: Occasion): string {
  const shown = value === undefined ? 'unknown' : String(Math.round(value * 1_000) / 1_000);
  return text.replaceAll('{playbook}', playbook).replaceAll('{when}', when).replaceAll('{value}', shown);
}

function scaleAction(scale: NonNullable<PlaybookStep['scale']>, filled: boolean): Act {
  const { replicas, deployment, namespace = 'default', command, undoCommand } = scale;
  if (command !== undefined) {
    // A program may repeat what it was given.
    const run = (words: readonly string[]): Promise<void> => runCommand(words, filled ? 'silent' : 'quoted');
    return {
      once: true,
      take: async () => {
        await run(command.map((word) => word.replaceAll('{replicas}', String(replicas))));
        if (undoCommand === undefined) return undefined;
        return async () => {
          await run(undoCommand);
          return 'ran the undoCommand';
        };
      },
    };
  }
  const target = new DeploymentScale({ ...scale, namespace, name: deployment ?? '' });
  const name = `deployment ${namespace}/${deployment ?? ''}`;
  /** What was there before a try that got no answer: it may have scaled. */
  let inDoubt: number | undefined;
  return {
    once: true,
    take: async () => {
      const found = await target.replicas();
      const doubt = found === replicas ? inDoubt : undefined;
      const before = doubt ?? found;
      // Who has as many already has them for a reason: in trouble nothing is made smaller.
      if (before >= replicas) return undefined;
      inDoubt = before;
      await target.set(replicas).catch((error: unknown) => {
        if (isRefused(error)) inDoubt = doubt;
        throw error;
      });
      inDoubt = undefined;
      return async () => {
        // What somebody else has set meanwhile is theirs.
        const now = await target.replicas();
        if (now !== replicas) return `left ${name} at ${now}: somebody else has scaled it`;
        await target.set(before);
        return `scaled ${name} back: replicas = ${before}`;
      };
    },
  };
}

/** Whether Kubernetes said no, so has surely not scaled. */
function isRefused(error: unknown): boolean {
  return error instanceof LarkspurError && error.code !== 'upstream_unavailable';
}

function disturbAction({ rules, forMs }: NonNullable<PlaybookStep['disturb']>, hands: Hands): Act {
  return {
    once: true,
    take: async ({ playbook }) => {
      const end = await hands.disturb(rules, forMs, `playbook ${playbook}`);
      return async () => {
        await end();
        return 'ended the disturbance';
      };
    },
  };
}
