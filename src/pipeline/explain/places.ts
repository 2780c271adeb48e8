import { placeOf, type Position } from '../../model/record.ts';

/** `TOPIC/PARTITION/OFFSET`. */
export function placeText({ topic, partition, offset }: Position): string {
  return `${topic}/${partition}/${offset}`;
}

/** The place that an origin names; `undefined` for text that is none. */
export function placeIn(origin: string): string | undefined {
  const place = placeOf(origin);
  return place === undefined ? undefined : placeText(place);
}
