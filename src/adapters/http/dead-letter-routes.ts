import { map, type Observable, of, take } from 'rxjs';

import { filterFields, type FilterWords } from '../../model/dead-letters/filter.ts';
import { isRunName, readListQuestion, readOrder } from '../../model/dead-letters/question.ts';
import {
  type Fault,
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  problemResponse,
  unknownWords,
} from '../../model/http.ts';
import { jsonOrText } from '../../model/json-levels.ts';
import { isTree } from '../../model/schema-words.ts';
import type { DeadLetterDesk } from '../../ports/dead-letter-desk.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

import { invalidRequest } from './invalid-request.ts';

/**
 * The doors for dead letters, on the admin port: `GET /admin/dead-letters` (`by`, `records` and the words of a filter),
 * `GET /admin/dead-letters/show?ref=`, `GET /admin/redrives/preview`, `POST /admin/redrives`, `GET /admin/redrives`,
 * `POST /admin/redrives/{run}/stop` and `/undo`.
 */
export function deadLetterRoutes(desk: DeadLetterDesk): readonly HttpRoute[] {
  const list: HttpRoute = { method: 'GET', path: '/admin/dead-letters', handle: ({ query }) => listed(query, desk) };
  const show: HttpRoute = {
    method: 'GET',
    path: '/admin/dead-letters/show',
    handle: ({ query }) => desk.show(query['ref'] ?? '').pipe(map(shown)),
  };
  const preview: HttpRoute = {
    method: 'GET',
    path: '/admin/redrives/preview',
    handle: ({ query }) => previewed(query, desk),
  };
  const runs: HttpRoute = { method: 'GET', path: '/admin/redrives', handle: () => of(shown({ runs: desk.runs() })) };
  const order: HttpRoute = {
    method: 'GET',
    path: '/admin/redrives/:run/order',
    handle: ({ params: { run = '' } }) => desk.ordered(run).pipe(map(shown)),
  };
  const start: HttpRoute = { method: 'POST', path: '/admin/redrives', handle: (request) => started(request, desk) };
  const stop: HttpRoute = {
    method: 'POST',
    path: '/admin/redrives/:run/stop',
    handle: ({ params: { run = '' } }) => of(stopped(run, desk)),
  };
  const undo: HttpRoute = {
    method: 'POST',
    path: '/admin/redrives/:run/undo',
    handle: ({ params: { run = '' }, body }) => desk.undo(run, whoOf(wordsIn(body) ?? {})).pipe(take(1), map(accepted)),
  };
  return [list, show, preview, runs, order, start, stop, undo];
}

const filterWords: readonly string[] = [...filterFields, 'from', 'to'];

/** A word that is misspelt would widen the choice. */
function strangers(words: FilterWords, more: readonly string[]): Fault[] {
  return unknownWords(words, [...filterWords, ...more]);
}

function previewed(query: FilterWords, desk: DeadLetterDesk): Observable<HttpResponse> {
  const { filter, perSecond, faults: wrong } = readOrder(query);
  const faults = [...wrong, ...strangers(query, ['rate'])];
  return faults.length > 0 ? of(invalidRequest(faults)) : desk.preview(filter, perSecond).pipe(map(shown));
}

function stopped(run: string, desk: DeadLetterDesk): HttpResponse {
  if (desk.stop(run)) return shown({ run, stopping: true });
  const detail = `No run of the name ${run} runs in this process.`;
  return problemResponse({ status: 404, code: 'not_found', title: 'Not running', detail });
}

function listed(query: FilterWords, desk: DeadLetterDesk): Observable<HttpResponse> {
  const { question, faults: wrong } = readListQuestion(query);
  const faults = [...wrong, ...strangers(query, ['by', 'records'])];
  return faults.length > 0 ? of(invalidRequest(faults)) : desk.list(question).pipe(map(shown));
}

function started({ body }: HttpRequest, desk: DeadLetterDesk): Observable<HttpResponse> {
  const words = wordsIn(body);
  if (words === undefined) {
    return of(invalidRequest([{ at: '', message: 'must be a JSON object of texts and numbers' }]));
  }
  const { filter, perSecond, faults: wrong } = readOrder(words);
  const faults = [...wrong, ...strangers(words, ['rate', 'run', 'who'])];
  const run = words['run'] ?? '';
  const wrongName = { at: 'run', message: 'must be 1 to 64 letters, digits, dots, hyphens or underscores' };
  const all = isRunName(run) ? faults : [...faults, wrongName];
  if (all.length > 0) return of(invalidRequest(all));
  return desk.redrive({ run, filter, perSecond, who: whoOf(words) }).pipe(take(1), map(accepted));
}

function wordsIn(body: Buffer): FilterWords | undefined {
  const value = jsonOrText(body.toString('utf8'));
  if (!isTree(value)) return undefined;
  const entries = Object.entries(value);
  if (!entries.every(([, word]) => typeof word === 'string' || typeof word === 'number')) return undefined;
  return Object.fromEntries(entries.map(([name, word]) => [name, String(word)]));
}

function whoOf(words: FilterWords): string {
  return (words['who'] ?? 'the admin port').slice(0, 200);
}

function shown(value: unknown): HttpResponse {
  return jsonResponse(200, value, { 'cache-control': 'no-store' });
}

function accepted(value: unknown): HttpResponse {
  return jsonResponse(202, value, { 'cache-control': 'no-store' });
}
