/** One sample of a page in the text format of Prometheus. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples whose names are asked for. Lines that are none are passed over. */
export function samplesOf(page: string, names: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = [];
  for (const text of page.split('\n')) {
    const end = text.search(/[{ ]/);
    if (end < 1 || !names.has(text.slice(0, end))) continue;
    const [, name = '', labels = '', value = ''] = line.exec(text) ?? [];
    samples.push({ name, labels: labelsOf(labels), value: value === '+Inf' ? Infinity : Number(value) });
  }
  return samples;
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(label)].map(([, name = '', value = '']) => [name, value.replaceAll(/\\(.)/g, '$1')]),
  );
}
