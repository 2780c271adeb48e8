import type { Call } from '../model/call.ts';
import type { Fault } from '../model/http.ts';
import { ExactLog } from '../operators/limit/exact-log.ts';

/** Somebody who hands in calls under a token of his own. */
export interface Client {
  readonly name: string;
  /** Apps whose calls he may make; `undefined`: all. */
  readonly apps: readonly string[] | undefined;
  /** Upstreams that he may call; `undefined`: all. */
  readonly upstreams: readonly string[] | undefined;
  /** Calls that he may hand in within any second, at this process; `undefined`: no limit. */
  readonly perSecond: number | undefined;
}

/**
 * The id of a call of this client: it begins with the client's name, so that nobody meets the calls of others. With and
 * without its name it is the same; who shows the token of the house, or none where none is asked for, has all ids.
 */
export function idOf(client: string | undefined, id: string): string {
  return client === undefined || id.startsWith(`${client}/`) ? id : `${client}/${id}`;
}

/** What each client may do, and how much of it. Who shows the token of the house, or none where none is asked for, may all. */
export class Clients {
  readonly #clients: ReadonlyMap<string, Client>;
  readonly #logs = new Map<string, ExactLog>();

  constructor(clients: readonly Client[]) {
    this.#clients = new Map(clients.map((client) => [client.name, client]));
    for (const { name, perSecond } of clients) {
      if (perSecond !== undefined) this.#logs.set(name, new ExactLog([{ limit: perSecond, windowMs: 1_000 }]));
    }
  }

  /** Takes one call out of the client's rate: 0, or milliseconds until there is one; then nothing was taken. */
  take(name: string | undefined, nowMs: number): number {
    const log = name === undefined ? undefined : this.#logs.get(name);
    if (log === undefined || log.take(nowMs)) return 0;
    return log.waitMs(nowMs);
  }

  /** What of a call the client may not do. @param app the one that a call of Feishu's goes out as */
  refusalOf(name: string | undefined, { upstream = 'feishu' }: Call, app: string | undefined): Fault | undefined {
    const client = name === undefined ? undefined : this.#clients.get(name);
    if (client?.upstreams?.includes(upstream) === false) {
      return { at: '/upstream', message: `client ${client.name} may not call ${upstream}` };
    }
    if (app !== undefined && client?.apps?.includes(app) === false) {
      return { at: '/app', message: `client ${client.name} may make no calls as ${app}` };
    }
    return undefined;
  }
}
