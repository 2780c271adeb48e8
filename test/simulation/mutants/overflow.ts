import { heldHeader, heldStateOf } from '../../../src/model/held.ts';
import { placeOf } from '../../../src/model/record.ts';
import type { Job } from '../../../src/pipeline/job.ts';

import type { Mutant } from './mutant.ts';

/** Bugs in what becomes of calls whose lane is full, or who wait outside. */
export const overflowMutants: readonly Mutant[] = [
  {
    name: 'lets a full lane hold up its partition',
    from: 5,
    house: ({ overflow }) => {
      overflow.comes = () => true;
    },
  },
  {
    name: 'sends calls of a full lane away without writing down that their key waits',
    from: 5,
    house: ({ lines }) => {
      const park$ = lines.park.bind(lines);
      lines.park = (job, untilMs) => {
        const without = Object.create(job, { orderingKey: { value: undefined } }) as Job;
        return park$(job.awayMs === undefined ? job : without, untilMs);
      };
    },
  },
  {
    name: 'counts a call of a full lane as done before it is in its delay topic',
    from: 5,
    house: ({ sink, partitions }) => {
      const append$ = sink.append.bind(sink);
      sink.append = (record) => {
        const { headers } = record;
        const state = headers.some(([name]) => name === heldHeader) ? heldStateOf({ headers }) : undefined;
        const place = state?.why === 'full-lane' ? placeOf(state.origin) : undefined;
        for (const { partition } of partitions.stats()) {
          if (place === undefined || partition.topic !== place.topic || partition.partition !== place.partition)
            continue;
          partitions.done({ partition, record: { ...place, key: null, value: null, headers: [] } });
        }
        return append$(record);
      };
    },
  },
  {
    name: 'goes by its own clock where the broker dates the waits',
    from: 317,
    house: ({ brokerClock }) => {
      brokerClock.dated = () => undefined;
    },
  },
];
