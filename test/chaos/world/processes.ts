import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Child, freePorts } from '../../support/services/child.ts';

const main = join(import.meta.dirname, '../../../src/cli/main.ts');
const programWith = (options: readonly string[]): string[] => [
  '--import',
  import.meta.resolve('tsx'),
  ...options,
  main,
];
/** Arguments with which Node runs the command line. */
export const program = programWith([]);
const startLimitMs = 120_000;

/** Values of a metric in a scrape, one per set of labels that holds `labels`. */
export function valuesOf(scrape: string, name: string, labels = ''): number[] {
  return scrape
    .split('\n')
    .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(labels))
    .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
}

async function answers(url: string): Promise<boolean> {
  return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).status < 500;
}

/** A kept connection may end in the moment in which it is used again: a process that lives is asked once more then. */
export async function askTwice<T>(process: Pick<Child, 'running'>, ask: () => Promise<T>): Promise<T> {
  return ask().catch((error: unknown) => {
    // `fetch` calls a failure of the network a TypeError, and its time limit something else.
    if (!(error instanceof TypeError) || !process.running) throw error;
    return ask();
  });
}

/** `larkspur worker` as a process of its own. */
export class WorkerProcess {
  readonly logFile: string;
  readonly #child: Child;
  readonly #admin: string;

  private constructor(child: Child, admin: string, logFile: string) {
    this.#child = child;
    this.#admin = admin;
    this.logFile = logFile;
  }

  /**
   * Starts one and returns when its admin port answers; it joins the group in the background.
   * @param nodeOptions for Node, before the program
   */
  static async start(config: string, logFile: string, nodeOptions: readonly string[] = []): Promise<WorkerProcess> {
    const admin = `127.0.0.1:${(await freePorts(1))[0] ?? 0}`;
    const child = new Child(
      process.execPath,
      [...programWith(nodeOptions), 'worker', '--config', config, '--admin', admin, '--log-level', 'info'],
      logFile,
    );
    await child.untilReady(() => answers(`http://${admin}/livez`), startLimitMs);
    return new WorkerProcess(child, admin, logFile);
  }

  get running(): boolean {
    return this.#child.running;
  }

  /** Whether it is gone, and nobody had asked for that. */
  get endedByItself(): boolean {
    return this.#child.endedByItself;
  }

  async ready(): Promise<boolean> {
    return fetch(`http://${this.#admin}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** What the admin port says of the worker. */
  async status(): Promise<unknown> {
    return JSON.parse(await this.#ask('/admin/status'));
  }

  /** Values of a metric, one per set of labels. */
  async metric(name: string): Promise<number[]> {
    return valuesOf(await this.scrape(), name);
  }

  /** Resident memory in MB, from /proc; `undefined` when the process is gone. */
  rssMb(): number | undefined {
    try {
      const [, kb] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')) ?? [];
      return kb === undefined ? undefined : Number(kb) / 1_024;
    } catch {
      return undefined;
    }
  }

  /** All of its metrics, as they are scraped. */
  scrape(): Promise<string> {
    return this.#ask('/metrics');
  }

  /** Freezes it: it holds its connections and does nothing. */
  pause(): void {
    this.#child.signal('SIGSTOP');
  }

  /** Thaws it; it knows nothing of the time that has passed. */
  resume(): void {
    this.#child.signal('SIGCONT');
  }

  /** Ends it as a crash would. */
  async kill9(): Promise<void> {
    await this.#child.stop(0);
  }

  /** SIGTERM; resolves with the exit code. Killed, and `null`, when it is not gone after two minutes. */
  async drain(): Promise<number | null> {
    await this.#child.stop(startLimitMs);
    return this.#child.ended();
  }

  /** Lines of its log at error level or above. */
  errors(): string[] {
    return this.#lines(/"level":"(error|fatal)"/);
  }

  /** Lines of its log at warning level or above. */
  warnings(): string[] {
    return this.#lines(/"level":"(warn|error|fatal)"/);
  }

  #ask(path: string): Promise<string> {
    return askTwice(this.#child, async () =>
      (await fetch(`http://${this.#admin}${path}`, { signal: AbortSignal.timeout(5_000) })).text(),
    );
  }

  #lines(level: RegExp): string[] {
    return readFileSync(this.logFile, 'utf8')
      .split('\n')
      .filter((line) => level.test(line));
  }
}

/** What the ledger of the sandbox says. */
export interface LedgerVerdict {
  readonly effects: number;
  readonly twice: number;
  readonly outOfOrder: number;
  readonly missing: number;
  readonly unmarked: number;
}

/** `larkspur sandbox` as a process of its own, without limits. */
export class SandboxProcess {
  readonly url: string;
  readonly #child: Child;

  private constructor(child: Child, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(logFile: string, latencyMs: number): Promise<SandboxProcess> {
    const port = (await freePorts(1))[0] ?? 0;
    const child = new Child(process.execPath, [...program, 'sandbox', '--port', String(port)], logFile);
    const sandbox = new SandboxProcess(child, `http://127.0.0.1:${port}`);
    await child.untilReady(() => answers(`${sandbox.url}/health`), startLimitMs);
    await sandbox.#ask('PUT', 'settings', { tierMode: 'off', chatPerSecond: 0, latencyMs });
    return sandbox;
  }

  /** State changes so far. */
  async effects(): Promise<number> {
    return ((await this.#ask('GET', 'effects?last=0')) as { effects: number }).effects;
  }

  async verdict(calls: number): Promise<LedgerVerdict> {
    return (await this.#ask('GET', `verdict?calls=${calls}`)) as LedgerVerdict;
  }

  /** How often the platform knew a key again, and how often each fault was played. */
  async stats(): Promise<{ readonly replays: number; readonly faults: Readonly<Record<string, number>> }> {
    return (await this.#ask('GET', 'stats')) as { replays: number; faults: Record<string, number> };
  }

  /** The first doubles and swaps, for a person. */
  async violations(): Promise<unknown> {
    const { doubles, swaps } = (await this.#ask('GET', 'effects?last=0')) as Record<string, unknown[]>;
    return { doubles: doubles?.slice(0, 3), swaps: swaps?.slice(0, 3) };
  }

  async faults(rules: readonly unknown[]): Promise<void> {
    await this.#ask('PUT', 'faults', { rules });
  }

  async stop(): Promise<void> {
    await this.#child.stop(3_000);
  }

  /** Only what may be asked twice. */
  #ask(method: 'GET' | 'PUT', path: string, body?: unknown): Promise<unknown> {
    return askTwice(this.#child, async () => {
      const response = await fetch(`${this.url}/_sandbox/${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      if (!response.ok) throw new Error(`the sandbox refuses ${path}: ${await response.text()}`);
      return response.json();
    });
  }
}

/** Runs a command of the product to its end; rejects with its log when it fails. */
export async function larkspur(args: readonly string[], logFile: string): Promise<void> {
  const child = new Child(process.execPath, [...program, ...args], logFile);
  const code = await child.ended();
  await child.stop(0);
  if (code !== 0)
    throw new Error(`larkspur ${args.join(' ')} ended with ${String(code)}:\n${readFileSync(logFile, 'utf8')}`);
}
