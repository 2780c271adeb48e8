import { firstValueFrom } from 'rxjs';

import { OriginPool } from '../../adapters/http/pools.ts';
import { HttpUpstream } from '../../adapters/http/upstream.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import type { Config } from '../../config/config.ts';
import type { Exchange } from '../../model/outcome.ts';

import { bad, type Finding, ok, warn } from './finding.ts';
import { healthProbes, healthTable, type TokenAnswer } from './health-table.ts';

const timeoutMs = 5_000;
const skewLimitMs = 5_000;
const abandoned: Exchange = { kind: 'failed', failure: 'aborted', sent: false, message: 'no answer' };
const tokenPath = '/open-apis/auth/v3/tenant_access_token/internal';
const ticketPath = '/open-apis/auth/v3/app_ticket/resend';

/**
 * Whether Feishu can be reached, agrees about the time, knows the apps, and is well. Asks for one token per self-built app, of
 * the first three times, which costs no quota and replaces none. A store app gets its token for a ticket alone, so for it the
 * ticket is asked for, which comes as an event each hour anyway. Neither secrets nor tokens stand in what is found.
 */
export async function feishuFindings({ apps, upstreams }: Config): Promise<Finding[]> {
  const feishu = upstreams['feishu'];
  if (feishu === undefined) return [];
  const { baseUrl, timeouts } = feishu;
  if (apps.length === 0) {
    return [warn('apps', 'no app is configured', 'add apps: [{ id, secret }], or calls to Feishu get no token')];
  }
  const pool = new OriginPool(baseUrl, { connections: 4, connectTimeoutMs: timeouts.connectMs }, systemClock);
  const upstream = new HttpUpstream(pool);
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, '');
  try {
    const findings: Finding[] = [];
    const ask = async ({ id, secret, kind }: (typeof apps)[number]): Promise<Exchange> => {
      const body = Buffer.from(JSON.stringify({ app_id: id, app_secret: secret }));
      const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': String(body.length) };
      const path = prefix + (kind === 'store' ? ticketPath : tokenPath);
      const request = { method: 'POST' as const, path, headers, body };
      return firstValueFrom(upstream.send(request, timeoutMs), { defaultValue: abandoned });
    };
    const answers: TokenAnswer[] = [];
    const first = apps.find(({ kind }) => kind !== 'store');
    for (const app of apps) {
      const startedMs = systemClock.now();
      const exchange = await ask(app);
      if (findings.length === 0) findings.push(...reachFindings(exchange, baseUrl));
      if (app === first) answers.push(answerOf(exchange, systemClock.now() - startedMs));
      findings.push(appFinding(app, exchange));
    }
    if (first === undefined) return findings;
    while (answers.length < healthProbes) {
      const startedMs = systemClock.now();
      answers.push(answerOf(await ask(first), systemClock.now() - startedMs));
    }
    return [...findings, ...healthTable(answers)];
  } finally {
    await pool.close();
  }
}

function reachFindings(exchange: Exchange, baseUrl: string): Finding[] {
  if (exchange.kind === 'failed') {
    const cure = 'check the network, the proxy and upstreams.feishu.baseUrl';
    return [bad('feishu', `${baseUrl} cannot be reached: ${exchange.failure}`, cure)];
  }
  const findings = [ok('feishu', `${baseUrl} answers`)];
  const theirsMs = Date.parse(exchange.headers['date'] ?? '');
  if (!Number.isNaN(theirsMs)) {
    const skewMs = Math.abs(theirsMs - systemClock.wall());
    const text = `the clock of Feishu differs by ${Math.round(skewMs / 1_000)} s`;
    findings.push(skewMs <= skewLimitMs ? ok('clock', text) : warn('clock', text, 'run NTP on this machine'));
  }
  return findings;
}

function appFinding({ id, kind }: Pick<Config['apps'][number], 'id' | 'kind'>, exchange: Exchange): Finding {
  const name = `app-${id}`;
  if (exchange.kind === 'failed') return bad(name, `no answer: ${exchange.failure}`, 'see feishu');
  const code = numberIn(exchange.body, 'code');
  if (code === 0) return ok(name, 'the credentials are good');
  const said = code === undefined ? `HTTP ${exchange.status} without a code` : `code ${code}`;
  const [what, state] = kind === 'store' ? ['ticket', 'a store app, enabled'] : ['token', 'enabled'];
  return bad(
    name,
    `the ${what} endpoint refuses: ${said}`,
    `check id and secret in the developer console, and that the app is ${state}`,
  );
}

function answerOf(exchange: Exchange, ms: number): TokenAnswer {
  if (exchange.kind === 'failed') return { ms, good: false, expireS: undefined };
  return { ms, good: numberIn(exchange.body, 'code') === 0, expireS: numberIn(exchange.body, 'expire') };
}

function numberIn(body: Buffer, name: string): number | undefined {
  try {
    const value = (JSON.parse(body.toString('utf8')) as Readonly<Record<string, unknown>> | null)?.[name];
    return typeof value === 'number' ? value : undefined;
  } catch {
    return undefined;
  }
}
