import type { Config } from '../config/config.ts';
import type { Logger } from '../ports/logger.ts';

import { feishuFindings } from './doctor/feishu.ts';
import { badFrom, type Finding } from './doctor/finding.ts';
import { dataFinding, nodeFinding, portFindings } from './doctor/local.ts';
import { playbookFindings } from './doctor/playbooks.ts';
import { tableFindings } from './doctor/route-table.ts';
import { kafkaFindings, redisFindingsOf } from './doctor/services.ts';

export type { Finding } from './doctor/finding.ts';

/** Looks at everything a configuration needs, all at once. Never rejects; changes nothing. */
export async function examine(config: Config, logger: Logger): Promise<Finding[]> {
  const { kafka, redis, listen, data, routeTable } = config;
  const sections: readonly (readonly [string, Promise<Finding[]>])[] = [
    ['ports', portFindings(listen)],
    ...(kafka === undefined ? [] : ([['kafka', kafkaFindings(kafka, Object.keys(config.profiles), logger)]] as const)),
    ...(redis === undefined || kafka === undefined ? [] : ([['redis', redisFindingsOf(redis, logger)]] as const)),
    ...(routeTable === undefined ? [] : ([['routes', tableFindings(config, routeTable)]] as const)),
    ['feishu', feishuFindings(config)],
    ['playbooks', playbookFindings(config)],
  ];
  const found = await Promise.all(
    sections.map(([name, findings]) =>
      findings.catch((error: unknown) => [badFrom(name, error, 'report this: the doctor itself failed')]),
    ),
  );
  const local = [nodeFinding(process.versions.node), ...(kafka === undefined ? [dataFinding(data)] : [])];
  return [...local, ...found.flat()];
}
