import { type Answer, failure, ok } from '../http/answer.ts';
import type { ApiCall, Endpoint, Job } from '../http/job.ts';
import { markerOf } from '../ledger/marker.ts';

const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** bitable/v1 records: create, once per `client_token`. */
export function bitableEndpoints(): Endpoint[] {
  const url = '/open-apis/bitable/v1/apps/:base/tables/:table/records';
  return [{ api: 'bitable.record.create', method: 'POST', url, accept: create }];
}

function create({ grant, params, query, body }: ApiCall): Job | Answer {
  const token = query['client_token'];
  if (token !== undefined && !(typeof token === 'string' && uuidV4.test(token))) {
    return failure(400, 1254037, 'Invalid client token, make sure that it complies with the specification.');
  }
  const { fields } = body as { fields?: unknown };
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    return failure(200, 1254001, 'WrongRequestBody');
  }
  const inFlight = failure(403, 1254608, 'Same API requests are submitted repeatedly.');
  return {
    ...(token !== undefined && { once: { key: `${grant.app} record ${token}`, inFlight } }),
    marker: markerOf(fields, params['table'] ?? ''),
    answer: (seq) => ok({ record: { record_id: `rec${seq.toString(36).padStart(11, '0')}`, fields } }),
  };
}
