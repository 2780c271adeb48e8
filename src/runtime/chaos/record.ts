import type { Loaded } from '../../config/load.ts';
import { readScenario } from '../../config/scenario.ts';
import { deadLetterHeaders, type DeadLetterHistory } from '../../model/dead-letter.ts';
import { LarkspurError } from '../../model/errors.ts';
import { jsonOrText } from '../../model/json-levels.ts';
import { headerText } from '../../model/record.ts';
import type { Result } from '../../model/result.ts';
import { isTree } from '../../model/schema-words.ts';
import type { Logger } from '../../ports/logger.ts';
import { adminAddress, askAdmin } from '../admin-client.ts';
import { tail } from '../tail.ts';

import { scenarioOf, scenarioText, type SeenAttempt, type Span } from './incident.ts';

/** What is to be recorded. */
export interface RecordRequest {
  readonly name: string;
  readonly span: Span;
  /** Newest records of each topic that are looked through. */
  readonly last: number;
  /** Admin port of the process that holds the folder; at most 1,000 records of each topic then. */
  readonly url: string | undefined;
}

const mostOverHttp = 1_000;

/** Reads results and dead letters of a time and makes a scenario file out of what failed then. Rejects with `not_found` when nothing did. */
export async function recordIncident(loaded: Loaded, log: Logger, request: RecordRequest): Promise<string> {
  const { name, span } = request;
  const attempts = await attemptsOf(loaded, log, request);
  const scenario = scenarioOf(name, span, attempts, loaded.raw.upstreams);
  if (scenario === undefined) {
    throw new LarkspurError('not_found', `none of ${attempts.length} attempts failed in that time`, {
      cure: 'look further back with --last, or name another time',
    });
  }
  const text = scenarioText(scenario);
  // What is written can be run.
  readScenario(text, name);
  return text;
}

async function attemptsOf({ config }: Loaded, log: Logger, { last, url }: RecordRequest): Promise<SeenAttempt[]> {
  const found: SeenAttempt[] = [];
  const take = (value: unknown, historyText: string | undefined): void => {
    const told = historyText === undefined ? value : jsonOrText(historyText);
    if (!isTree(told) || !Array.isArray(told['attempts'])) return;
    const { upstream = '', attempts } = told as unknown as Result | DeadLetterHistory;
    for (const attempt of attempts) found.push({ ...attempt, upstream });
  };
  for (const topic of ['results', 'dead-letters']) {
    if (url === undefined) {
      await tail(config, log, { topic, last, follow: false, stop: new Promise(() => undefined) }, (record) => {
        take(jsonOrText(record.value?.toString('utf8') ?? ''), headerText(record.headers, deadLetterHeaders.history));
      });
      continue;
    }
    const path = `/admin/topics/${topic}/tail`;
    const query = { last: String(Math.min(last, mostOverHttp)) };
    const { records } = await askAdmin<{ records: { value: unknown; headers: [string, string][] }[] }>(
      adminAddress(config, url),
      { path, query },
    );
    for (const { value, headers } of records) {
      take(value, headers.find(([header]) => header === deadLetterHeaders.history)?.[1]);
    }
  }
  return found;
}
