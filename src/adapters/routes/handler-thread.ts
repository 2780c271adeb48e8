import { Worker } from 'node:worker_threads';

import { messageOf } from '../../model/errors.ts';
import type { EventView } from '../../model/route.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Acted } from '../../ports/route.ts';

// What runs in the thread. As text, so that it is the same under a loader and in a build. Calls are collected and leave
// together when the handler ends: one that fails half-way has made none.
const threadSource = `
const { parentPort, workerData } = require('node:worker_threads');
const loaded = import(workerData);
loaded.catch(() => undefined);
parentPort.on('message', async ({ n, event, callId }) => {
  const calls = [];
  const call = (asked) => {
    const id = asked.id ?? (calls.length === 0 ? callId : callId + '/' + calls.length);
    calls.push({ ...asked, id });
    return id;
  };
  try {
    const { default: handler } = await loaded;
    const answer = await handler(event, { call });
    parentPort.postMessage({ n, json: JSON.stringify({ calls, answer }) });
  } catch (error) {
    parentPort.postMessage({ n, error: String(error?.message ?? error) });
  }
});
`;

interface Reply {
  readonly n: number;
  readonly json?: string;
  readonly error?: string;
}

interface Job {
  readonly event: EventView;
  readonly callId: string;
  readonly settle: (acted: Acted) => void;
  cancelTimer: () => void;
}

const mostAtOnce = 64;

/**
 * A user's handler module in a thread of its own: it cannot block the process, and one that does not end is ended. Events run
 * beside each other in the thread. The one that exceeds its time fails and the thread is stopped; the others begin again in a
 * new one, which is harmless, since what a handler asks for leaves only when it ends. A thread that dies says not by whose
 * fault: then events run one at a time until the guilty one is found.
 */
export class HandlerThread {
  readonly #module: string;
  readonly #timeoutMs: number;
  readonly #timers: Timers;
  readonly #running = new Map<number, Job>();
  #queue: Job[] = [];
  #thread: Worker | undefined;
  #atOnce = mostAtOnce;
  #next = 0;
  #retired = false;

  /** @param module file URL of the module @param timeoutMs longest time for one event */
  constructor(module: string, timeoutMs: number, timers: Timers) {
    this.#module = module;
    this.#timeoutMs = timeoutMs;
    this.#timers = timers;
  }

  /** Runs the handler for one event. Never rejects. */
  run(event: EventView, callId: string): Promise<Acted> {
    return new Promise((resolve) => {
      this.#queue.push({ event, callId, settle: resolve, cancelTimer: () => undefined });
      this.#pump();
    });
  }

  /** Whether events are under way. */
  get isBusy(): boolean {
    return this.#running.size > 0 || this.#queue.length > 0;
  }

  /** Takes no place while nothing is under way: what still comes finds a thread, which ends with it. */
  retire(): void {
    this.#retired = true;
    this.#pump();
  }

  /** Ends the thread. What is under way fails. */
  async close(): Promise<void> {
    const jobs = [...this.#running.values(), ...this.#queue];
    this.#running.clear();
    this.#queue = [];
    for (const job of jobs) end(job, failed('was stopped'));
    await this.#end();
  }

  async #end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  #pump(): void {
    if (!this.isBusy) {
      this.#atOnce = mostAtOnce;
      if (this.#retired) void this.#end();
    }
    while (this.#running.size < this.#atOnce) {
      const job = this.#queue.shift();
      if (job === undefined) return;
      const n = this.#next++;
      this.#running.set(n, job);
      job.cancelTimer = this.#timers.after(this.#timeoutMs, () => this.#tooLong(n));
      this.#started().postMessage({ n, event: job.event, callId: job.callId });
    }
  }

  #started(): Worker {
    if (this.#thread !== undefined) return this.#thread;
    const thread = new Worker(threadSource, {
      eval: true,
      workerData: this.#module,
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    thread.unref();
    thread.on('message', (reply: Reply) => this.#settle(reply.n, actedOf(reply)));
    thread.on('error', (error) => this.#died(thread, messageOf(error)));
    thread.on('exit', () => this.#died(thread, 'the thread of the handler ended'));
    this.#thread = thread;
    return thread;
  }

  #settle(n: number, acted: Acted): void {
    const job = this.#running.get(n);
    if (job === undefined) return;
    this.#running.delete(n);
    end(job, acted);
    this.#pump();
  }

  #tooLong(n: number): void {
    void this.#end();
    const guilty = this.#running.get(n);
    this.#running.delete(n);
    this.#beginAgain();
    if (guilty !== undefined) end(guilty, failed(`took longer than ${this.#timeoutMs} ms`));
    this.#pump();
  }

  #died(thread: Worker, why: string): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    const found = this.#running.size === 1;
    if (found) {
      for (const job of this.#running.values()) end(job, failed(why));
      this.#running.clear();
    }
    this.#atOnce = found ? mostAtOnce : 1;
    this.#beginAgain();
    this.#pump();
  }

  #beginAgain(): void {
    const jobs = [...this.#running.values()];
    this.#running.clear();
    for (const job of jobs) job.cancelTimer();
    this.#queue = [...jobs, ...this.#queue];
  }
}

function end(job: Job, acted: Acted): void {
  job.cancelTimer();
  job.settle(acted);
}

function actedOf({ json, error }: Reply): Acted {
  if (json === undefined) return failed(error ?? 'ended without a word');
  const { calls, answer } = JSON.parse(json) as { readonly calls: readonly unknown[]; readonly answer?: unknown };
  return { kind: 'done', calls, answer };
}

function failed(message: string): Acted {
  return { kind: 'failed', message: message.slice(0, 300), again: true };
}
