import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** How an upstream is. */
export type Mood =
  | { readonly kind: 'well' | 'hangs' | 'down' }
  /** Answers well, after so long. */
  | { readonly kind: 'slow'; readonly ms: number };

/** What the upstreams saw, by name. */
export interface Seen {
  readonly ask: number;
  /** Most requests at once. */
  readonly most: Readonly<Record<string, number>>;
  readonly requests: Readonly<Record<string, number>>;
}

/** Upstreams in a process of their own. */
export class Upstreams {
  readonly #child: ChildProcess;
  readonly url: string;
  #asked = 0;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** @param delayMs how long a good answer takes */
  static async start(delayMs: number): Promise<Upstreams> {
    const child = fork(fileURLToPath(new URL('stub.ts', import.meta.url)), {
      env: { ...process.env, DELAY_MS: String(delayMs) },
      execArgv: ['--import', 'tsx'],
    });
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (message) => resolve((message as { port: number }).port));
      child.once('exit', (code) => reject(new Error(`the upstreams ended with ${String(code)}`)));
    });
    return new Upstreams(child, port);
  }

  /** Changes how one is; what is under way there goes on as it began. */
  set(name: string, mood: Mood): void {
    this.#child.send({ set: [name, mood] });
  }

  async seen(): Promise<Seen> {
    const ask = ++this.#asked;
    return new Promise((resolve) => {
      const listen = (message: unknown): void => {
        if ((message as Seen).ask !== ask) return;
        this.#child.off('message', listen);
        resolve(message as Seen);
      };
      this.#child.on('message', listen);
      this.#child.send({ ask });
    });
  }

  stop(): void {
    this.#child.kill();
  }
}
