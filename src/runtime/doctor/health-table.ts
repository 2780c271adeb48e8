import { bad, type Finding, ok, warn } from './finding.ts';

/** One answer of the token endpoint. */
export interface TokenAnswer {
  readonly ms: number;
  /** Whether it brought a token. */
  readonly good: boolean;
  /** What the answer says of the life of its token. */
  readonly expireS: number | undefined;
}

/** How often the endpoint is asked. */
export const healthProbes = 3;

const mostMs = 800;
// The platform gives the same token again while it lives for half an hour or longer: less is none of its answers.
const leastS = 1_800;

/** Three rows, each with its value and its limit: times, probes, the life of a token. */
export function healthTable(answers: readonly TokenAnswer[]): Finding[] {
  const good = answers.filter((answer) => answer.good);
  const probes = `${good.length} of ${answers.length} questions for a token were answered well, all must be`;
  const findings = [
    good.length === answers.length
      ? ok('feishu-probes', probes)
      : bad('feishu-probes', probes, 'see the finding of the app; else ask again, and look at the network'),
  ];
  if (good.length === 0) return findings;
  // Of so few the p95 is the slowest.
  const slowestMs = Math.round(Math.max(...good.map(({ ms }) => ms)));
  const time = `p95 of ${good.length} answers ${slowestMs} ms, at most ${mostMs}`;
  findings.push(
    slowestMs <= mostMs ? ok('feishu-p95', time) : warn('feishu-p95', time, 'look at the line to Feishu and the proxy'),
  );
  const lives = good.map(({ expireS }) => expireS ?? NaN);
  const shortestS = Math.min(...lives);
  const life = Number.isNaN(shortestS) ? 'does not say how long it lives' : `lives for ${shortestS} s`;
  const text = `the token ${life}, at least ${leastS}`;
  findings.push(
    shortestS >= leastS
      ? ok('feishu-token', text)
      : warn('feishu-token', text, 'look at the clock; a proxy in between may answer for Feishu'),
  );
  return findings;
}
