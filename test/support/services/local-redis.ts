import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Child, freePorts } from './child.ts';
import { redisProgram } from './redis-programs.ts';

/** What a {@link LocalRedis} may be given. */
export interface LocalRedisOptions {
  /** Further arguments of redis-server, e.g. `['--maxmemory', '10mb']`; with `--appendonly yes` data survive `kill9`. */
  readonly args?: readonly string[];
  /** The redis-server to run. Default: what {@link redisProgram} finds first. */
  readonly program?: string;
}

/** A Redis on this machine, for the shared test services and for tests that hurt it. The address stays over restarts. */
export class LocalRedis {
  readonly #folder = mkdtempSync(join(tmpdir(), 'larkspur-redis-'));
  readonly #args: readonly string[];
  readonly #program: string | undefined;
  #port = 0;
  #child: Child | undefined;

  constructor(options: LocalRedisOptions = {}) {
    this.#args = options.args ?? [];
    this.#program = options.program;
    process.once('exit', this.#removeData);
  }

  /** Known after the first `start`. */
  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** Starts the server, again after `kill9`, and returns when it answers. */
  async start(): Promise<void> {
    const program = this.#program ?? (await redisProgram()).program;
    const first = this.#port === 0;
    for (let triesLeft = first ? 3 : 1; ; triesLeft--) {
      if (first) this.#port = (await freePorts(1))[0] ?? 0;
      const own = ['--port', String(this.#port), '--bind', '127.0.0.1', '--dir', this.#folder];
      const args = [...own, '--save', '', '--appendonly', 'no', ...this.#args];
      this.#child = new Child(program, args, join(this.#folder, 'redis.log'));
      try {
        await this.#child.untilReady(() => pings(this.#port), 20_000);
        return;
      } catch (error) {
        await this.#child.stop(0);
        if (triesLeft <= 1) throw error;
      }
    }
  }

  /** Ends the server as a crash would. */
  async kill9(): Promise<void> {
    await this.#child?.stop(0);
  }

  /** Ends and starts the server on the same address. */
  async restart(): Promise<void> {
    await this.#child?.stop(5_000);
    await this.start();
  }

  /** Runs one command, e.g. `FLUSHALL`; rejects when there is no answer, or a refusal. */
  async command(text: string): Promise<void> {
    const answer = await ask(this.#port, text);
    if (answer?.startsWith('-') !== false) throw new Error(`redis answers ${text} with ${answer ?? 'nothing'}`);
  }

  /** Freezes the server: connections stay open, nothing answers. */
  pause(): void {
    this.#child?.signal('SIGSTOP');
  }

  /** Thaws a frozen server. */
  resume(): void {
    this.#child?.signal('SIGCONT');
  }

  /** Ends the server and removes its data. */
  async stop(): Promise<void> {
    this.resume();
    await this.#child?.stop(3_000);
    this.#removeData();
    process.off('exit', this.#removeData);
  }

  readonly #removeData = (): void => rmSync(this.#folder, { recursive: true, force: true });
}

async function pings(port: number): Promise<boolean> {
  return (await ask(port, 'PING'))?.startsWith('+PONG') ?? false;
}

/** The first line of the answer to one command, `undefined` when none comes. */
function ask(port: number, command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`));
    const end = (answer?: string) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(500, () => end());
    socket.on('data', (data) => end(data.toString()));
    socket.on('error', () => end());
  });
}
