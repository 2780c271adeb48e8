/** What a worker of the bench is told through its environment. */
export interface Task {
  readonly sandboxUrl: string;
  readonly redisUrl: string;
  readonly keyPrefix: string;
  /** Its calls have numbers from here on. */
  readonly from: number;
  readonly calls: number;
  /** Over how many chats the messages go. */
  readonly chats: number;
}

/** What a worker tells when it is asked. */
export interface Told {
  readonly kind: 'ready' | 'status';
  readonly settled: number;
  readonly roundTrips: number;
  /** Longest time between an ask of the log and its answer, milliseconds. */
  readonly longestAskMs: number;
  /** Longest time for which the process did nothing else, or was not let run, milliseconds. */
  readonly longestStallMs: number;
  /** Replicas among which the limits are split; 0: they are counted together. */
  readonly splitAmong: number;
  /** Lowest learned share of a limit. */
  readonly factor: number;
}

/** The task of this process. */
export function task(): Task {
  return JSON.parse(process.env['BENCH_TASK'] ?? '{}') as Task;
}
