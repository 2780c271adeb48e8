import type { AuditEntry } from '../../model/audit.ts';
import { isTree } from '../../model/schema-words.ts';

import type { Happening } from './chronicle.ts';

/** The timeline of a time as Markdown: what was seen and what was done about it, in the order of the clock. */
export function incidentMarkdown(
  from: string,
  to: string,
  happenings: readonly Happening[],
  entries: readonly AuditEntry[],
): string {
  const seen = happenings.map(({ at, what, says }) => ({ at, what, text: says }));
  const done = entries.map(({ at, by, what, to: now, reason }) => ({
    at,
    what,
    text: `**${by}**: ${changeText(now)}${reason === undefined ? '' : ` (${reason})`}`,
  }));
  const lines = [...seen, ...done].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const rows = lines.map(({ at, what, text }) => `| ${at} | ${cell(what)} | ${cell(text)} |`);
  const sick = [...new Set(happenings.map(({ what }) => what))].join(', ');
  return [
    `# Incident from ${from} to ${to}`,
    '',
    `Seen: ${happenings.length} changes of ${sick === '' ? 'nothing' : sick}. Done: ${entries.length} changes by ${peopleOf(entries)}.`,
    '',
    ...(rows.length === 0
      ? ['Nothing was seen and nothing done.']
      : ['| When | What | |', '| --- | --- | --- |', ...rows]),
    '',
  ].join('\n');
}

function peopleOf(entries: readonly AuditEntry[]): string {
  const people = [...new Set(entries.map(({ by }) => by))].join(', ');
  return people === '' ? 'nobody' : people;
}

function changeText(to: unknown): string {
  if (!isTree(to)) return `-> ${JSON.stringify(to)}`;
  const steps: readonly unknown[] = Array.isArray(to['steps']) ? to['steps'] : [];
  const state = typeof to['state'] === 'string' ? to['state'] : undefined;
  if (state === undefined) return `-> ${JSON.stringify(to)}`;
  const told = steps.flatMap((step) => {
    if (!isTree(step)) return [];
    const { step: words, outcome, detail } = step;
    const more = typeof detail === 'string' ? `, ${detail}` : '';
    return typeof words === 'string' && typeof outcome === 'string' ? [`${words}: ${outcome}${more}`] : [];
  });
  return [`-> ${state}`, ...told].join('; ');
}

// A cell is one line, and a bar would end it.
function cell(text: string): string {
  return text
    .replace(/[\r\n]+/g, ' ')
    .replaceAll('|', '\\|')
    .slice(0, 1_000);
}
