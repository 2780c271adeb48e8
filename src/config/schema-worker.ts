import { Type } from '@sinclair/typebox';

import { ms, oneOf, section } from './schema-parts.ts';

/** A number of bytes. */
export const bytes = (description: string) => Type.Integer({ minimum: 1024, maximum: 2 ** 31, description });
/** A number of things, 1 or more. */
export const items = (description: string, maximum = 1_000_000) => Type.Integer({ minimum: 1, maximum, description });

/** The section `worker`. */
export const workerSchema = section({
  inFlight: items('calls in flight at once in this process', 10_000),
  ring: section(
    {
      capacity: items('records per partition; rounded up to a power of two', 1_048_576),
      highItems: items('pause the partition at so many records'),
      lowItems: items('resume it at so many'),
      highBytes: bytes('pause the partition at so many bytes'),
      lowBytes: bytes('resume it at so many'),
      totalBytes: bytes('bytes over all partitions'),
    },
    'Buffer in front of the lanes',
  ),
  lanes: section({
    items: items('records waiting between ring and attempt, over all partitions', 1_000_000),
    whenFull: oneOf(
      ['park', 'pause'],
      'what a tenant has beyond its share goes to a delay topic, or its partition waits',
    ),
  }),
  claims: section({
    leaseMs: ms('how long a claim is held without a sign of life'),
    renewMs: ms('between two signs of life'),
    ttlMs: Type.Integer({ minimum: 60_000, maximum: 90 * 86_400_000, description: 'how long a finished id is known' }),
    unkeyedTtlMs: Type.Integer({
      minimum: 60_000,
      maximum: 90 * 86_400_000,
      description: 'the same for APIs without an idempotency key',
    }),
  }),
  commit: section({
    intervalMs: ms('longest time between two commits'),
    everyDone: items('commit after so many finished records'),
  }),
  outcomeLines: section(
    {
      successShare: Type.Number({ minimum: 0, maximum: 1, description: 'share of the calls that went well' }),
      perSecond: items('lines a second about one kind of other ending; what is left out is counted', 100_000),
    },
    'One line in the log per record that has ended',
  ),
});
