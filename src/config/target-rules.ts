import type { Report } from './not-above.ts';
import type { RawUpstream } from './schema-upstream.ts';
import type { Path } from './tree.ts';

/** Rules between the addresses of an upstream. @param own as it was written */
export function targetRules(at: Path, { baseUrl, targets }: RawUpstream, report: Report): void {
  // What the schema found wrong with them is said already.
  if (!Array.isArray(targets) || !targets.every((url) => typeof url === 'string' && URL.canParse(url))) return;
  if (baseUrl !== undefined) report([...at, 'baseUrl'], 'stands beside targets: give one of the two');
  const pathOf = (url: string): string => new URL(url).pathname.replace(/\/+$/, '');
  const places = targets.map((url) => new URL(url).origin + pathOf(url));
  const [first = ''] = targets;
  for (const [index, url] of targets.entries()) {
    const place = [...at, 'targets', index];
    if (places.indexOf(places[index] ?? '') < index) report(place, `is ${url}, which stands in the list before`);
    else if (pathOf(url) !== pathOf(first)) {
      report(place, `has the path ${pathOf(url) || '/'}, must be that of the first, ${pathOf(first) || '/'}`);
    }
  }
}
