import type { Verdict } from '../../model/outcome.ts';
import type { SpanAttributes } from '../../ports/tracer.ts';
import type { Decoded, Ending, Job, Started } from '../job.ts';

/** What a span tells, and how it failed. */
export interface Facts {
  readonly attributes: SpanAttributes;
  readonly error: string | undefined;
}

/** An attempt, in the words of OpenTelemetry for HTTP clients. To be asked before it is added to the job's history. */
export function attemptFacts({ destination, plan, attemptsMade }: Job, { atMs }: Started, verdict: Verdict): Facts {
  const [method = '', template = ''] = plan.api.split(' ');
  const failed = verdict.class !== 'success' && verdict.class !== 'duplicate';
  const error = failed ? verdict.errorType : undefined;
  // Of several addresses nobody here knows which one was asked.
  const server = destination.targets(atMs).length > 0 ? undefined : serverOf(plan.breakerKey);
  return {
    attributes: {
      'http.request.method': method,
      'url.template': template.startsWith('/') ? template : undefined,
      'server.address': server?.hostname,
      'server.port': server === undefined || server.port === '' ? undefined : Number(server.port),
      'http.response.status_code': verdict.status,
      'http.request.resend_count': attemptsMade === 0 ? undefined : attemptsMade,
      'error.type': error,
      'larkspur.upstream': destination.name,
      'larkspur.class': verdict.class,
      'larkspur.code': verdict.code,
      'larkspur.log_id': verdict.logId,
    },
    error,
  };
}

/** How a record has ended. */
export function endFacts(item: Decoded, ending: Ending): Facts {
  const error = ending.kind === 'dead-letter' ? ending.reason : undefined;
  return {
    attributes: {
      'larkspur.outcome': ending.kind === 'result' ? ending.result.status : ending.kind,
      'larkspur.held_for': ending.kind === 'held' ? ending.why : undefined,
      'error.type': error,
      ...(item.kind === 'call' ? callAttributes(item) : {}),
    },
    error,
  };
}

function callAttributes({ id, destination, plan, round, attemptsMade }: Job): SpanAttributes {
  return {
    'messaging.message.id': id,
    'larkspur.upstream': destination.name,
    'larkspur.api': plan.api,
    'larkspur.attempts': attemptsMade,
    'larkspur.round': round > 0 ? round : undefined,
  };
}

/** A breaker watches a group of APIs of one host, and is named `host/group`. */
function serverOf(breakerKey: string): URL | undefined {
  const host = breakerKey.slice(0, breakerKey.indexOf('/'));
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
}
