import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('./folder-user.ts', import.meta.url));

const worker = fileURLToPath(new URL('./killable-worker.ts', import.meta.url));

/** A worker's work; see `killable-worker.ts`. */
export interface Work {
  readonly sandboxUrl: string;
  readonly records: number;
}

/** A child process that uses a data folder; see `folder-user.ts`. */
export class FolderProcess {
  readonly lines: string[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #exited: Promise<unknown>;
  readonly #waiting = new Set<() => void>();

  /** @param fileLimitKiB no file of the process may grow beyond, as on a full disk */
  constructor(folder: string, what: 'hold' | 'write' | Work, fileLimitKiB?: number) {
    const run =
      typeof what === 'string' ? [program, folder, what] : [worker, folder, what.sandboxUrl, `${what.records}`];
    const node = [process.execPath, '--import', 'tsx', ...run];
    // `ulimit -f` counts blocks of 512 bytes.
    const limited = ['sh', '-c', `ulimit -f ${(fileLimitKiB ?? 0) * 2} && exec "$@"`, 'sh', ...node];
    const [command = '', ...args] = fileLimitKiB === undefined ? node : limited;
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#exited = once(this.#child, 'exit');
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.lines.push(line);
      for (const wake of this.#waiting) wake();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when `condition` holds, looked at after each line. */
  until(condition: (lines: readonly string[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!condition(this.lines)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Its first line. */
  async first(): Promise<string> {
    await this.until((lines) => lines.length > 0);
    return this.lines[0] ?? '';
  }

  /** Kills it as a crash would and waits until it is gone. */
  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}
