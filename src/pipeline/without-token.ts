import type { Exchange } from '../model/outcome.ts';
import { mask } from '../model/secret-text.ts';

/** An answer without the token of its request: what an upstream gives back goes to results, logs and pages. */
export function withoutToken(exchange: Exchange, token: string): Exchange {
  if (exchange.kind === 'failed' || !exchange.body.includes(token)) return exchange;
  return { ...exchange, body: Buffer.from(exchange.body.toString('latin1').replaceAll(token, mask), 'latin1') };
}
