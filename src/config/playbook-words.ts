import { pathOfText } from './overlay.ts';
import type { RawPlaybook } from './schema-playbook.ts';
import { shown } from './secrets.ts';
import { eachLeaf, pathText } from './tree.ts';

/**
 * What a step does, in words that may stand on `audit`, in the log and on pages.
 * @param written as it stands in the file: a variable is named, what it holds is not shown
 */
export function stepWords({ config, isolate, pause, alert, scale, disturb }: RawPlaybook['then'][number]): string {
  if (config !== undefined) return `set ${valuesOf(config).join(', ')}`;
  if (isolate !== undefined) return `isolate ${isolate}: its breakers are held open`;
  if (pause !== undefined) return `pause ${pause}: its calls wait`;
  if (alert !== undefined) {
    const { feishu, text, link } = alert;
    const to = feishu === undefined ? 'an HTTP receiver' : 'a Feishu bot';
    return `tell ${to}: ${JSON.stringify(text)}${link === undefined ? '' : ` ${shown(['link'], link)}`}`;
  }
  if (scale !== undefined) {
    const { command, replicas, deployment = '', namespace = 'default' } = scale;
    return command === undefined
      ? `scale deployment ${namespace}/${deployment}: replicas = ${replicas}`
      : `run ${command.join(' ')} (replicas = ${replicas})`;
  }
  return disturb === undefined ? '' : `disturb for ${disturb.forMs / 1_000} s: ${JSON.stringify(disturb.rules)}`;
}

/** Each value as `config show` prints it. */
function valuesOf(config: Readonly<Record<string, unknown>>): string[] {
  const lines: string[] = [];
  for (const [path, value] of Object.entries(config)) {
    eachLeaf(value, (at, leaf) => lines.push(`${pathText(at)} = ${shown(at, leaf)}`), pathOfText(path));
  }
  return lines;
}
