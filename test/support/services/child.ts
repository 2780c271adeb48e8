import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

// Every server and its folder listen for the end of this process, and a test may start a dozen.
process.setMaxListeners(100);

/** Ports that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve, reject) => {
          const server = createServer();
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/** A server process that cannot outlive the tests, whatever kills them. */
export class Child {
  readonly #process: ChildProcess;
  readonly #reaper: ChildProcess;
  readonly #logFile: string;
  readonly #exited: Promise<void>;
  #asked = false;
  readonly #onExit = (): boolean => this.#process.kill('SIGKILL');

  constructor(program: string, args: readonly string[], logFile: string) {
    this.#logFile = logFile;
    const log = openSync(logFile, 'a');
    this.#process = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#exited = new Promise((resolve) => {
      this.#process.once('exit', () => resolve());
      this.#process.once('error', () => resolve());
    });
    // Its standard input closes when this process ends in any way, SIGKILL included; then it kills the server.
    const script = 'trap "" INT TERM HUP; cat >/dev/null; kill -9 "$1" 2>/dev/null';
    this.#reaper = spawn('sh', ['-c', script, 'reaper', String(this.#process.pid ?? 0)], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#reaper.unref();
    process.once('exit', this.#onExit);
  }

  get running(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null && this.#process.pid !== undefined;
  }

  /** Whether it is gone, and nobody had asked for that. */
  get endedByItself(): boolean {
    return !this.running && !this.#asked;
  }

  /** Id of the process, 0 when it could not be started. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Resolves when the process is gone: with its exit code, `null` after a signal that it did not handle. */
  async ended(): Promise<number | null> {
    await this.#exited;
    return this.#process.exitCode;
  }

  /** Polls `ready` until it is true; fails with the end of the log when the server ends or `timeoutMs` is over. */
  async untilReady(ready: () => Promise<boolean>, timeoutMs: number): Promise<void> {
    const untilMs = Date.now() + timeoutMs;
    while (!(await ready().catch(() => false))) {
      if (!this.running || Date.now() > untilMs) throw new Error(`the server did not start:\n${this.#logTail()}`);
      await sleep(50);
    }
    // Somebody else may answer at an address that it could not have.
    if (!this.running) throw new Error(`the server did not start:\n${this.#logTail()}`);
  }

  /** Sends a signal, e.g. SIGSTOP, SIGCONT. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Asks the server to end, kills it after `graceMs` (0: at once), and returns when it is gone. */
  async stop(graceMs: number): Promise<void> {
    this.#asked ||= this.running;
    if (this.running) this.#process.kill(graceMs > 0 ? 'SIGTERM' : 'SIGKILL');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), graceMs);
    await this.#exited;
    clearTimeout(timer);
    process.off('exit', this.#onExit);
    // Gone before its input closes, so that a process which got the same id later is safe.
    this.#reaper.kill('SIGKILL');
  }

  #logTail(): string {
    return readFileSync(this.#logFile, 'utf8').split('\n').slice(-30).join('\n');
  }
}
