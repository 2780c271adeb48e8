/** What a process does to the world; a crash may come right before or right after any of it. */
export type Op = 'quota' | 'claim' | 'extend' | 'finish' | 'send' | 'append' | 'commit' | 'park';

/** What the upstream does with one attempt. */
export type Answer =
  | 'ok'
  | 'refused'
  | 'reset-before'
  | 'reset-after'
  | 'error-before'
  | 'error-after'
  | 'limited'
  | 'hang-before'
  | 'hang-after'
  | 'late'
  | 'slow'
  | 'wrong';

export type CallKind = 'message' | 'reaction' | 'read' | 'post' | 'get' | 'poison' | 'tombstone';

/** One record of `calls`. */
export interface PlannedCall {
  readonly id: string;
  readonly atMs: number;
  readonly kind: CallKind;
  readonly key: string | null;
  /** Chat of a message: a bucket of its own. */
  readonly chat: string;
  readonly ttlMs: number | undefined;
  readonly retry: boolean;
  readonly priority: 'interactive' | 'normal' | 'bulk';
  /** The first attempts' answers; later ones are `ok`. */
  readonly answers: readonly Answer[];
  /** Its answer does not fit into `results`. */
  readonly large: boolean;
}

/** Somebody cancels a call, perhaps before it was written or after it has ended. */
export interface PlannedCancel {
  readonly id: string;
  readonly atMs: number;
}

/** Something that goes wrong, once. */
export type Fault =
  | { readonly kind: 'crash'; readonly replica: number; readonly atMs: number; readonly downMs: number }
  | {
      readonly kind: 'crash-at';
      readonly replica: number;
      readonly op: Op;
      readonly nth: number;
      readonly when: 'before' | 'after';
      readonly downMs: number;
    }
  | { readonly kind: 'stop'; readonly replica: number; readonly atMs: number; readonly downMs: number }
  | { readonly kind: 'freeze'; readonly replica: number; readonly atMs: number; readonly forMs: number }
  | { readonly kind: 'rebalance'; readonly atMs: number; readonly noticeMs: number }
  | { readonly kind: 'claims-away'; readonly atMs: number; readonly forMs: number }
  | { readonly kind: 'claims-lossy'; readonly atMs: number; readonly forMs: number; readonly share: number }
  | { readonly kind: 'claims-lose-second'; readonly atMs: number }
  | { readonly kind: 'claims-empty'; readonly atMs: number }
  | { readonly kind: 'claims-clock'; readonly atMs: number; readonly byMs: number }
  | { readonly kind: 'wall-clock'; readonly replica: number; readonly atMs: number; readonly byMs: number }
  | { readonly kind: 'produce'; readonly atMs: number; readonly forMs: number; readonly how: 'held' | 'ack-lost' }
  | { readonly kind: 'commits'; readonly atMs: number; readonly forMs: number; readonly how: 'refused' | 'reply-lost' }
  | {
      readonly kind: 'upstream';
      readonly upstream: 'feishu' | 'news';
      readonly atMs: number;
      readonly forMs: number;
      readonly how: Answer;
    }
  | { readonly kind: 'token'; readonly atMs: number }
  /** Somebody pauses an upstream in all processes that are there, and lets it go on. */
  | { readonly kind: 'pause'; readonly upstream: 'feishu' | 'news'; readonly atMs: number; readonly forMs: number };

/** Sizes of one world. */
export interface Sizes {
  readonly replicas: number;
  readonly partitions: number;
  readonly ringCapacity: number;
  readonly laneItems: number;
  readonly parkFullLanes: boolean;
  readonly maxInTurn: number;
  readonly concurrency: number;
  readonly processSlots: number;
  /** Of each API per second; 0: the documented ones. */
  readonly perSecond: number;
  readonly commitEveryMs: number;
  /** A fetch brings so many records at most. */
  readonly fetch: number;
  /** Share of offsets that hold no record. */
  readonly holes: number;
  /** The plain upstream recognises a repeated POST by its key. */
  readonly newsKey: boolean;
}

/** All that happens to one world from outside. The same plan gives the same run, event by event. */
export interface Plan {
  readonly seed: number;
  readonly sizes: Sizes;
  readonly calls: readonly PlannedCall[];
  readonly cancels: readonly PlannedCancel[];
  readonly faults: readonly Fault[];
  /** Nothing happens to this upstream, nor to the house: its calls must not feel what happens to the other. */
  readonly spared?: 'feishu' | 'news';
}
