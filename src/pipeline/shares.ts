import type { CallPlan } from '../ports/profile.ts';

import type { Destination } from './destination.ts';

/** A place that a call needs beside its upstream's: in its quota bucket, or at a resource that takes one call at a time. */
export interface Share {
  readonly room: string;
  readonly limit: number;
}

/** Those that a call needs. */
export function sharesOf({ bucketLimit }: Pick<Destination, 'bucketLimit'>, { limits, serial }: CallPlan): Share[] {
  const shares: Share[] = [];
  const [bucket] = limits;
  // A key without windows only carries cool-downs.
  if (bucket !== undefined && bucket.windows.length > 0)
    shares.push({ room: `bucket:${bucket.key}`, limit: bucketLimit });
  if (serial !== undefined) shares.push({ room: `serial:${serial}`, limit: 1 });
  return shares;
}
