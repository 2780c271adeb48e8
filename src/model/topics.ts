import type { delayTiers } from './delay-topics.ts';

const day = 86_400_000;
const MiB = 1024 * 1024;

/** What a topic should be. The files `topics/*.json` are generated from these. */
export interface TopicDeclaration {
  /** Logical name: the configured prefix comes in front of it on the broker. */
  readonly name: string;
  readonly partitions: number;
  /** What the key of a record is. */
  readonly key: string;
  readonly retentionMs: number;
  readonly cleanup: 'delete';
  readonly maxMessageBytes: number;
  /** With three replicas; fewer brokers carry less. */
  readonly minInSync: number;
  /** Whose clock stamps a record: the producer's, or the broker's where waiting times are counted from it. */
  readonly timestamp: 'CreateTime' | 'LogAppendTime';
  /** Who may write to it. */
  readonly owner: string;
  readonly why: string;
  /** Contract of the value, or of the history header of a dead letter; absent where the value is another topic's. */
  readonly schema?: 'call' | 'result' | 'event' | 'dead-letter-history' | 'audit-entry';
}

const common = {
  partitions: 12,
  retentionMs: 7 * day,
  cleanup: 'delete',
  minInSync: 2,
  timestamp: 'CreateTime',
} as const;

const delay = (topic: (typeof delayTiers)[number]['topic'], wait: string): TopicDeclaration => ({
  ...common,
  name: topic,
  key: 'key of the call',
  maxMessageBytes: 2 * MiB,
  timestamp: 'LogAppendTime',
  owner: 'worker',
  why: `Calls that wait ${wait}, or one step of a longer wait; equal waits keep the order of the topic the order of dueness.`,
  schema: 'call',
});

/** Every topic of Larkspur. `calls` and the delay topics have equal partitions: one worker owns partition p of them all. */
export const topicDeclarations: readonly TopicDeclaration[] = [
  {
    ...common,
    name: 'calls',
    key: 'ordering key, chosen by the producer; none: no order',
    maxMessageBytes: MiB,
    owner: 'any service',
    why: 'API calls to make. The one topic that other teams write to.',
    schema: 'call',
  },
  {
    ...common,
    name: 'events',
    key: 'what the event is about: chat, document, user',
    maxMessageBytes: MiB,
    owner: 'ingress',
    why: 'Feishu events, each once, decrypted.',
    schema: 'event',
  },
  {
    ...common,
    name: 'results',
    key: 'key of the call',
    maxMessageBytes: 2 * MiB,
    owner: 'worker',
    why: 'What became of each call that has an answer.',
    schema: 'result',
  },
  {
    ...common,
    name: 'dead-letters',
    key: 'key of the record',
    retentionMs: 30 * day,
    maxMessageBytes: 2 * MiB,
    owner: 'worker',
    why: 'Records that ended without an answer: bytes and headers untouched, the reason in headers. Kept long enough for a person to look.',
    schema: 'dead-letter-history',
  },
  delay('retry.10s', '10 seconds'),
  delay('retry.1m', '1 minute'),
  delay('retry.10m', '10 minutes'),
  delay('retry.1h', '1 hour'),
  {
    ...common,
    name: 'audit',
    key: 'what was changed',
    // Who decided what is asked for years later.
    retentionMs: 5 * 365 * day,
    maxMessageBytes: MiB,
    owner: 'worker and command line',
    why: 'Changes that people, files and playbooks made: who, what, when, why.',
    schema: 'audit-entry',
  },
];
