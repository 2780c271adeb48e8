import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { RedisEntryStore } from '../../src/adapters/redis/entry-store.ts';
import { connectRedis } from '../support/redis.ts';
import { describeWithRedis } from '../support/services/provided.ts';

import { entryStoreSuite } from './entry-store.suite.ts';

describeWithRedis('on Redis', (url) => {
  entryStoreSuite('Redis', () => {
    const connection = connectRedis(url);
    const store = new RedisEntryStore(connection, `entries-${randomUUID()}:`);
    return Promise.resolve({ store, wait: (ms) => sleep(ms), close: () => connection.close() });
  });
});
