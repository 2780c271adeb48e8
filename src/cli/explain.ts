import type { Command } from 'commander';

import { secretsOf } from '../config/describe.ts';
import { LarkspurError } from '../model/errors.ts';
import { askExplain, type Explanation, type Wait } from '../runtime/ask-explain.ts';
import { askSpike } from '../runtime/ask-spike.ts';
import { stderrLogger } from '../runtime/stderr-logger.ts';

import { type ConfigOptions, loadFrom, withConfigOptions, withUrls } from './config-options.ts';
import { print, printJson } from './output.ts';
import { safe } from './record-text.ts';
import { minuteNamed } from './spike-minute.ts';
import { spikeText } from './spike-text.ts';

type Options = ConfigOptions & { readonly url: readonly string[]; readonly spike?: string; readonly json?: boolean };

/** `larkspur explain`. */
export function explainCommand(command: Command): void {
  withUrls(withConfigOptions(command))
    .argument('[ref]', 'TOPIC/PARTITION/OFFSET, or the id of a call')
    .option(
      '--spike <HH:MM>',
      'instead of a record: what calls took longer for in that minute (or an ISO date with a time)',
    )
    .option('--json', 'print JSON')
    .action(run);
}

async function run(ref: string | undefined, { url, spike, json, ...options }: Options): Promise<void> {
  if ((ref === undefined) === (spike === undefined)) {
    throw new LarkspurError('bad_request', 'explain takes either a record or --spike', {
      cure: 'larkspur explain ID, or larkspur explain --spike 14:30',
    });
  }
  const loaded = loadFrom(options);
  if (spike !== undefined) {
    const found = await askSpike(loaded.config, url, minuteNamed(spike, Date.now()));
    if (json === true) printJson(found);
    else print(spikeText(found));
    return;
  }
  const log = stderrLogger(options.logLevel === undefined ? 'error' : loaded.config.logLevel, secretsOf(loaded));
  const explanation = await askExplain(loaded.config, log, url, ref ?? '');
  if (json === true) printJson(explanation);
  else print(explanationText(explanation));
  if (explanation.where === 'unknown') process.exitCode = 1;
}

/** An explanation for people. */
export function explanationText(explanation: Explanation): string {
  const { summary, id, at, upstream, api, steps, waits, next, deadline, ended } = explanation;
  const field = (name: string, text: string | undefined): string[] =>
    text === undefined ? [] : [`${name.padEnd(9)} ${safe(text)}`];
  return [
    safe(summary),
    '',
    ...field('id', id),
    ...field('record', at),
    ...field('upstream', api === undefined ? upstream : `${upstream ?? ''}, ${api}`),
    ...(steps.length === 0 ? [] : ['', ...steps.map((step) => `${step.at}  ${safe(step.what)}`)]),
    ...waits.flatMap(waitLines),
    ...(next === undefined
      ? []
      : [
          '',
          `next      attempt ${next.attempt}${next.of === undefined ? '' : ` of ${next.of}`}${from(next.notBefore)}`,
        ]),
    ...field('deadline', deadline),
    ...(ended === undefined ? [] : ['', ...field('ended', `${ended.how}: ${ended.why}`), ...field('cure', ended.cure)]),
  ].join('\n');
}

function from(notBefore: string | undefined): string {
  return notBefore === undefined ? '' : `, not before ${notBefore}`;
}

function waitLines({ what, on, why, cure, since, until, ahead }: Wait, index: number): string[] {
  const when = [
    since === undefined ? '' : `since ${since}`,
    until === undefined ? '' : `until ${until}`,
    ahead === undefined ? '' : `${ahead} ahead`,
  ].filter((text) => text !== '');
  return [
    '',
    `${(index === 0 ? 'waits for' : 'behind it').padEnd(9)} ${what} (${safe(on)})${when.length === 0 ? '' : `, ${when.join(', ')}`}`,
    `          ${safe(why)}`,
    `cure      ${safe(cure)}`,
  ];
}
