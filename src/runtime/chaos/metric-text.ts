import type { Labels, MetricsReader } from '../../ports/metrics.ts';

/** What metrics show, of this process or on the page of another. */
export type Samples = Pick<MetricsReader, 'samples'>;

const line = /^[a-zA-Z_:][\w:]*(?:\{(.*)\})? (\S+)/s;
const label = /(\w+)="((?:[^"\\]|\\.)*)"/gs;

/** Reads a page in the text format of Prometheus. Lines that are no samples are passed over. */
export function samplesOn(page: string): Samples {
  const byName = new Map<string, string[]>();
  for (const text of page.split('\n')) {
    const end = text.search(/[{ ]/);
    if (end < 1 || text.startsWith('#')) continue;
    const name = text.slice(0, end);
    const lines = byName.get(name);
    if (lines === undefined) byName.set(name, [text]);
    else lines.push(text);
  }
  return { samples: (name) => (byName.get(name) ?? []).flatMap(sampleOf) };
}

function sampleOf(text: string): (readonly [Labels, number])[] {
  const [, labels = '', value] = line.exec(text) ?? [];
  return value === undefined ? [] : [[labelsOf(labels), value === '+Inf' ? Infinity : Number(value)]];
}

function labelsOf(text: string): Labels {
  return Object.fromEntries([...text.matchAll(label)].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/gs, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
