import type { Observable } from 'rxjs';

import { openEmbedded } from '../adapters/embedded/embedded.ts';
import { kafkaTail } from '../adapters/kafka/tail.ts';
import { systemClock, systemTimers } from '../adapters/system/clock.ts';
import type { Config } from '../config/config.ts';
import { LarkspurError } from '../model/errors.ts';
import { urlOf } from '../model/http.ts';
import type { InRecord } from '../model/record.ts';
import { topicDeclarations } from '../model/topics.ts';
import type { Logger } from '../ports/logger.ts';

/** What to show of a topic. */
export interface TailRequest {
  readonly topic: string;
  /** So many of the newest records, in order of time. */
  readonly last: number;
  /** Go on with what is appended until `stop` resolves. */
  readonly follow: boolean;
  readonly stop: Promise<unknown>;
}

/**
 * Reads the end of a topic beside all groups and hands over each record. Resolves when all was read or `stop` resolved;
 * rejects with `topic_missing`, `kafka_unavailable` or `data_folder_locked`.
 */
export async function tail(
  config: Config,
  logger: Logger,
  { topic, last, follow, stop }: TailRequest,
  show: (record: InRecord) => void,
): Promise<void> {
  const { kafka, data } = config;
  if (kafka !== undefined) {
    const record$ = kafkaTail(topic, {
      client: kafka,
      prefix: kafka.topicPrefix,
      timers: systemTimers,
      logger,
      last,
      follow,
    });
    await drain(record$, stop, show);
    return;
  }
  const clocks = { clock: systemClock, timers: systemTimers };
  const open = () => openEmbedded({ data, logger, topics: topicDeclarations, ...clocks });
  const store = openOrPointTo(urlOf(config.listen.admin), topic, last, open);
  try {
    await drain(store.tail(topic, { last, follow }), stop, show);
  } finally {
    await store.close();
  }
}

/** Who holds the folder is most likely our own `up`: its admin port shows the topic, too. */
function openOrPointTo<T>(adminUrl: string, topic: string, last: number, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof LarkspurError) || error.code !== 'data_folder_locked') throw error;
    const url = `${adminUrl}/admin/topics/${topic}/tail?last=${Math.min(last, 1_000)}`;
    throw new LarkspurError(error.code, error.message, { cure: `ask that process: curl -s '${url}'`, cause: error });
  }
}

function drain(record$: Observable<InRecord>, stop: Promise<unknown>, show: (record: InRecord) => void): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const reading = record$.subscribe({ next: show, error: reject, complete: resolve });
    void stop.then(() => {
      reading.unsubscribe();
      resolve();
    });
  });
}
