import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { of } from 'rxjs';

import type { HttpResponse } from '../../../model/http.ts';
import type { HttpRoute } from '../../../ports/http-route.ts';

/**
 * `GET /` on the admin port: one page that shows what the admin doors tell, and changes nothing. Anybody may load it: it holds
 * no data, and asks for the token that the doors want. It runs its own script alone and reaches no other host.
 */
export function consoleRoute(): HttpRoute {
  const html = readFileSync(new URL('./console.html', import.meta.url), 'utf8');
  const policy = [
    "default-src 'none'",
    "connect-src 'self'",
    `script-src '${hashOf(html, 'script')}'`,
    `style-src '${hashOf(html, 'style')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  const page: HttpResponse = {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    },
    body: html,
  };
  const route: HttpRoute = { method: 'GET', path: '/', open: true, quiet: true, handle: () => of(page) };
  return route;
}

/** What the policy allows is the one element of the page, byte for byte. */
function hashOf(html: string, tag: 'script' | 'style'): string {
  const content = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html)?.[1] ?? '';
  return `sha256-${createHash('sha256').update(content).digest('base64')}`;
}
