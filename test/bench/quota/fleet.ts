import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { WindowLimit } from '../../../src/sandbox/state/windows.ts';
import { Child, freePorts } from '../../support/services/child.ts';

import type { Task, Told } from './task.ts';

/** What the sandbox counted for the messages of the bench. */
export interface Arrivals {
  readonly calls: number;
  readonly refusals: number;
  readonly maxPerSecond: number;
  readonly maxPerMinute: number;
  readonly chatRefusals: number;
}

/** What a fleet is made of. */
export interface FleetOptions {
  readonly redisUrl: string;
  readonly tierMode: 'sliding' | 'fixed';
  readonly tier: readonly WindowLimit[];
  readonly calls: number;
}

const workers = 3;
const chats = 300;
const startLimitMs = 120_000;
const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const api = 'im.message.create';

/** A sandbox and three workers, each a process of its own, that share a quota. */
export class Fleet {
  readonly #sandbox: Child;
  readonly #url: string;
  readonly #workers: readonly ChildProcess[];
  readonly #folder: string;

  private constructor(sandbox: Child, url: string, processes: readonly ChildProcess[], folder: string) {
    this.#sandbox = sandbox;
    this.#url = url;
    this.#workers = processes;
    this.#folder = folder;
  }

  /** Returns when all workers have been heard of and have made a call each, so that no code is compiled while it counts. */
  static async start({ redisUrl, tierMode, tier, calls }: FleetOptions): Promise<Fleet> {
    const folder = mkdtempSync(join(tmpdir(), 'larkspur-quota-'));
    const port = (await freePorts(1))[0] ?? 0;
    const url = `http://127.0.0.1:${port}`;
    const program = ['--import', import.meta.resolve('tsx'), main, 'sandbox', '--port', String(port)];
    const sandbox = new Child(process.execPath, program, join(folder, 'sandbox.log'));
    const processes: ChildProcess[] = [];
    const fleet = new Fleet(sandbox, url, processes, folder);
    try {
      await sandbox.untilReady(async () => (await fetch(`${url}/health`)).ok, startLimitMs);
      await fleet.settings({ tierMode: 'off' });
      const keyPrefix = `bench-${process.pid}-${port}:`;
      for (let index = 0; index < workers; index++) {
        const from = Math.floor((calls * index) / workers);
        const own = Math.floor((calls * (index + 1)) / workers) - from;
        const task: Task = { sandboxUrl: url, redisUrl, keyPrefix, from, calls: own, chats };
        processes.push(
          fork(fileURLToPath(new URL('worker.ts', import.meta.url)), {
            env: { ...process.env, BENCH_TASK: JSON.stringify(task) },
            execArgv: ['--import', import.meta.resolve('tsx')],
          }),
        );
      }
      await Promise.all(processes.map((worker) => told(worker, 'ready')));
      await fleet.settings({ tierMode, tiers: { [api]: tier } });
      return fleet;
    } catch (error) {
      await fleet.close();
      throw error;
    }
  }

  /** Hands every worker its calls. */
  go(): void {
    for (const worker of this.#workers) worker.send('go');
  }

  async status(): Promise<readonly Told[]> {
    return Promise.all(
      this.#workers.map((worker) => {
        const answer = told(worker, 'status');
        worker.send('status');
        return answer;
      }),
    );
  }

  /** Looks at all workers until `done`; rejects after `limitMs`. */
  async until(what: string, done: (told: readonly Told[]) => boolean, limitMs: number): Promise<readonly Told[]> {
    const untilMs = performance.now() + limitMs;
    for (;;) {
      const seen = await this.status();
      if (done(seen)) return seen;
      if (performance.now() > untilMs) throw new Error(`${what}: not within ${limitMs} ms; ${JSON.stringify(seen)}`);
      await sleep(100);
    }
  }

  async arrivals(): Promise<Arrivals> {
    const stats = (await (await fetch(`${this.#url}/_sandbox/stats`)).json()) as {
      buckets: { bucket: string; arrivals: number; refusals: number; maxPerSecond: number; maxPerMinute: number }[];
      chats: { refusals: number };
    };
    const bucket = stats.buckets.find(({ bucket: name }) => name.startsWith('cli_bench/') && name.endsWith(api));
    return {
      calls: bucket?.arrivals ?? 0,
      refusals: bucket?.refusals ?? 0,
      maxPerSecond: bucket?.maxPerSecond ?? 0,
      maxPerMinute: bucket?.maxPerMinute ?? 0,
      chatRefusals: stats.chats.refusals,
    };
  }

  /** Changes what the sandbox allows; what it has granted still counts. */
  async tier(tier: readonly WindowLimit[]): Promise<void> {
    await this.settings({ tiers: { [api]: tier } });
  }

  async settings(settings: unknown): Promise<void> {
    const response = await fetch(`${this.#url}/_sandbox/settings`, {
      method: 'PUT',
      body: JSON.stringify(settings),
      headers: { 'content-type': 'application/json' },
    });
    if (!response.ok) throw new Error(`the sandbox refuses: ${await response.text()}`);
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) worker.disconnect();
    await this.#sandbox.stop(1_000);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function told(worker: ChildProcess, kind: Told['kind']): Promise<Told> {
  return new Promise((resolve, reject) => {
    const hear = (message: Told): void => {
      if (message.kind !== kind) return;
      worker.off('message', hear);
      worker.off('exit', die);
      resolve(message);
    };
    const die = (code: number | null): void => reject(new Error(`a worker ended with ${String(code)}`));
    worker.on('message', hear);
    worker.once('exit', die);
  });
}
