import type { TopicDeclaration } from '../model/topics.ts';
import type { TopicShape } from '../ports/topic-admin.ts';

/** One change that brings a topic to its declaration. */
export type TopicStep =
  | { readonly kind: 'create'; readonly topic: TopicShape }
  | { readonly kind: 'add-partitions'; readonly name: string; readonly from: number; readonly to: number }
  | {
      readonly kind: 'set';
      readonly name: string;
      /** New values by setting. */
      readonly settings: Readonly<Record<string, string>>;
      /** Present values by setting. */
      readonly from: Readonly<Record<string, string>>;
    };

/** What is to be done, what is refused, and what somebody should know. */
export interface TopicPlan {
  readonly steps: readonly TopicStep[];
  /** Differences that no step mends: they would take data away. The worker must not run with them. */
  readonly refusals: readonly string[];
  readonly notes: readonly string[];
}

/** Replicas and acknowledgements that a cluster of this size can carry. */
interface Safety {
  readonly replicationFactor: number;
  readonly minInSync: number;
}

// More is more data kept, longer records taken, more copies asked for: lowering any of these loses something.
const onlyUp = ['retention.ms', 'max.message.bytes', 'min.insync.replicas'];
// What the client can read without a further package; `producer` keeps what was sent.
const readableCodecs = ['producer', 'gzip', 'uncompressed'];

/**
 * Compares topics as they are with their declarations. Pure; planning again after its steps were taken gives no steps.
 * Never takes partitions, time, size or safety away.
 */
export function planTopics(
  declared: readonly TopicDeclaration[],
  actual: readonly TopicShape[],
  brokers: number,
): TopicPlan {
  const steps: TopicStep[] = [];
  const refusals: string[] = [];
  const notes: string[] = [];
  const safety = safetyFor(brokers);
  if (safety.replicationFactor < 3) {
    notes.push(
      `${count(brokers, 'broker')}: replication factor ${safety.replicationFactor} instead of 3, min.insync.replicas ` +
        `${safety.minInSync} instead of 2; a lost broker can lose acknowledged records`,
    );
  }
  for (const declaration of declared) {
    const wanted = shapeOf(declaration, safety);
    const found = actual.find(({ name }) => name === declaration.name);
    if (found === undefined) {
      steps.push({ kind: 'create', topic: wanted });
      continue;
    }
    if (found.partitions < wanted.partitions) {
      steps.push({ kind: 'add-partitions', name: wanted.name, from: found.partitions, to: wanted.partitions });
      notes.push(
        `${wanted.name}: with more partitions keys move to other partitions; let the workers drain it first, ` +
          'or order per key breaks for what is still waiting',
      );
    } else if (found.partitions > wanted.partitions) {
      refusals.push(
        `${wanted.name} has ${found.partitions} partitions, declared are ${wanted.partitions}: partitions cannot be ` +
          'taken away; drain the topic, delete it and apply again',
      );
    }
    if (found.replicationFactor < wanted.replicationFactor) {
      notes.push(
        `${wanted.name} has replication factor ${found.replicationFactor}, ${wanted.replicationFactor} are possible: ` +
          'raise it with kafka-reassign-partitions',
      );
    }
    const change = settingsToChange(found, wanted, notes);
    if (Object.keys(change).length > 0) {
      const from = Object.fromEntries(Object.keys(change).map((key) => [key, found.settings[key] ?? 'unknown']));
      steps.push({ kind: 'set', name: wanted.name, settings: change, from });
    }
  }
  return { steps, refusals, notes };
}

function safetyFor(brokers: number): Safety {
  const replicationFactor = Math.max(1, Math.min(3, brokers));
  return { replicationFactor, minInSync: replicationFactor === 3 ? 2 : 1 };
}

/** A declaration as the broker knows topics. */
function shapeOf(declaration: TopicDeclaration, safety: Safety): TopicShape {
  return {
    name: declaration.name,
    partitions: declaration.partitions,
    replicationFactor: safety.replicationFactor,
    settings: {
      'retention.ms': String(declaration.retentionMs),
      'cleanup.policy': declaration.cleanup,
      'max.message.bytes': String(declaration.maxMessageBytes),
      'min.insync.replicas': String(Math.min(declaration.minInSync, safety.minInSync)),
      'message.timestamp.type': declaration.timestamp,
      'compression.type': 'producer',
    },
  };
}

function settingsToChange(found: TopicShape, wanted: TopicShape, notes: string[]): Record<string, string> {
  const change: Record<string, string> = {};
  for (const [key, value] of Object.entries(wanted.settings)) {
    const present = found.settings[key];
    if (present === value) continue;
    if (key === 'compression.type' && present !== undefined && readableCodecs.includes(present)) continue;
    if (onlyUp.includes(key) && present !== undefined && size(present) >= size(value)) {
      notes.push(`${found.name}: ${key} is ${present}, declared is ${value}; the larger value stays`);
      continue;
    }
    if (key === 'cleanup.policy') {
      notes.push(`${found.name}: cleanup.policy changes from ${present ?? 'unknown'} to ${value}`);
    }
    change[key] = value;
  }
  // More copies than there are: nothing could be written any more.
  const inSync = Number(found.settings['min.insync.replicas']);
  if (inSync > found.replicationFactor) {
    notes.push(
      `${found.name}: min.insync.replicas ${inSync} with ${count(found.replicationFactor, 'replica')}: no write can succeed`,
    );
  }
  return change;
}

/** A negative retention means for ever. */
function size(value: string): number {
  const number = Number(value);
  return number < 0 ? Infinity : number;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** A step as a line for people. */
export function stepText(step: TopicStep): string {
  switch (step.kind) {
    case 'create': {
      const { name, partitions, replicationFactor, settings } = step.topic;
      const list = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
      return `+ ${name}: create with ${partitions} partitions, replication factor ${replicationFactor}, ${list.join(', ')}`;
    }
    case 'add-partitions':
      return `~ ${step.name}: partitions ${step.from} -> ${step.to}`;
    case 'set':
      return `~ ${step.name}: ${Object.entries(step.settings)
        .map(([key, value]) => `${key} ${step.from[key] ?? 'unknown'} -> ${value}`)
        .join(', ')}`;
  }
}
