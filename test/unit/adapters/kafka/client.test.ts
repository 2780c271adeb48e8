import { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } from 'kafkajs';
import { describe, expect, it } from 'vitest';

import { brief, createClient } from '../../../../src/adapters/kafka/client.ts';
import { larkspurErrorOf, troubleOf, typeOf } from '../../../../src/adapters/kafka/errors.ts';
import { unfitPatches } from '../../../../src/adapters/kafka/patches.ts';
import { RememberingLogger } from '../../../support/remembering-logger.ts';
import { noLogger } from '../../../support/silent.ts';

describe('createClient', () => {
  it.each(['[::1]:9092', 'a:9092,b:9092', 'host', 'host:', 'host:0', 'host:70000', '', ' a:1'])(
    'refuses the address "%s", which kafkajs would misread, and says what is allowed',
    (broker) => {
      const create = () => createClient({ brokers: ['ok:9092', broker], clientId: 'c' }, noLogger, brief);
      expect(create).toThrow(expect.objectContaining({ code: 'config_invalid' }) as Error);
      expect(create).toThrow(/host:port/);
    },
  );

  it('refuses an empty list', () => {
    expect(() => createClient({ brokers: [], clientId: 'c' }, noLogger, brief)).toThrow(/got none/);
  });

  it('finds kafkajs as its mends expect it', () => {
    const logger = new RememberingLogger();
    createClient({ brokers: ['a.b-c_d:9092', '127.0.0.1:1'], clientId: 'c' }, logger, brief);
    expect(unfitPatches()).toEqual([]);
    expect(logger.lines).toEqual([]);
  });
});

const protocol = (type: string): Error =>
  new KafkaJSProtocolError(Object.assign(new Error(type), { type, code: 1, retriable: true }));

describe('troubleOf', () => {
  it.each([
    ['TOPIC_AUTHORIZATION_FAILED', 'denied'],
    ['MESSAGE_TOO_LARGE', 'too-large'],
    ['RECORD_LIST_TOO_LARGE', 'too-large'],
    ['ILLEGAL_GENERATION', 'rebalance'],
    ['UNKNOWN_MEMBER_ID', 'rebalance'],
    ['UNKNOWN_TOPIC_OR_PARTITION', 'missing-topic'],
    ['CORRUPT_MESSAGE', 'other'],
  ])('sorts %s as %s, also inside the wrapping of exhausted retries', (type, trouble) => {
    const cause = protocol(type);
    expect(troubleOf(cause)).toBe(trouble);
    const wrapped = new KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 5, retryTime: 300 });
    Object.assign(wrapped, { cause });
    expect(troubleOf(wrapped)).toBe(trouble);
    expect(typeOf(wrapped)).toBe(type);
  });

  it('sorts a lost connection, and whatever is no error at all', () => {
    expect(troubleOf(new KafkaJSConnectionError('gone', { broker: 'b:1' }))).toBe('connection');
    expect(troubleOf('text')).toBe('other');
    expect(typeOf(undefined)).toBe('unknown');
  });
});

describe('larkspurErrorOf', () => {
  it('says what could not be done and what to do, and whether time may mend it', () => {
    const denied = larkspurErrorOf(protocol('TOPIC_AUTHORIZATION_FAILED'), 'write to results');
    expect(denied).toMatchObject({ code: 'kafka_denied', retryable: false });
    expect(denied.message).toContain('could not write to results');
    expect(denied.cure).toContain('ACL');
    const away = larkspurErrorOf(new KafkaJSConnectionError('gone', { broker: 'b:1' }), 'read');
    expect(away).toMatchObject({ code: 'kafka_unavailable', retryable: true });
  });
});
