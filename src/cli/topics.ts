import type { Command } from 'commander';

import { secretsOf } from '../config/describe.ts';
import { LarkspurError } from '../model/errors.ts';
import { stderrLogger } from '../runtime/stderr-logger.ts';
import { stepText, type TopicPlan } from '../runtime/topics-plan.ts';
import { applyPlan, topicPlan, withTopicAdmin } from '../runtime/topics.ts';

import { type ConfigOptions, loadFrom, withConfigOptions } from './config-options.ts';
import { note, print, printJson } from './output.ts';

type Options = ConfigOptions & { readonly json?: boolean };
type Verb = 'plan' | 'apply' | 'check';

/** `larkspur topics plan|apply|check`. */
export function topicsCommand(command: Command): void {
  const verbs: readonly (readonly [Verb, string])[] = [
    ['plan', 'show what apply would change; changes nothing'],
    ['apply', 'show the plan, then create missing topics and bring the others up to their declarations'],
    ['check', 'fail unless every topic is as declared'],
  ];
  for (const [verb, summary] of verbs) {
    withConfigOptions(command.command(verb))
      .description(summary)
      .option('--json', 'print one JSON object')
      .action((options: Options) => run(verb, options));
  }
}

async function run(verb: Verb, { json = false, ...options }: Options): Promise<void> {
  const loaded = loadFrom(options);
  const { kafka } = loaded.config;
  if (kafka === undefined) {
    if (json) printJson({ mode: 'embedded', steps: [], refusals: [], notes: [], applied: 0 });
    else print('embedded mode: topics come into being when they are first used; nothing to do');
    return;
  }
  const logger = stderrLogger(options.logLevel === undefined ? 'error' : loaded.config.logLevel, secretsOf(loaded));
  await withTopicAdmin(kafka, logger, async (admin) => {
    const plan = await topicPlan(admin);
    if (!json) show(plan, kafka.topicPrefix);
    let applied = 0;
    if (verb === 'apply' && plan.refusals.length === 0) {
      await applyPlan(admin, plan, (step) => {
        applied++;
        if (!json) print(`done: ${step.kind === 'create' ? step.topic.name : step.name}`);
      });
    }
    if (json) printJson({ mode: 'kafka', prefix: kafka.topicPrefix, ...plan, applied });
    failIfWrong(verb, plan);
  });
}

function show({ steps, refusals, notes }: TopicPlan, prefix: string): void {
  if (steps.length === 0 && refusals.length === 0) print('every topic is as declared');
  else print(`topics with prefix ${prefix === '' ? '(none)' : prefix}`);
  for (const step of steps) print(`  ${stepText(step)}`);
  for (const refusal of refusals) print(`  ! ${refusal}`);
  for (const text of notes) note(`note: ${text}`);
}

function failIfWrong(verb: Verb, { steps, refusals }: TopicPlan): void {
  if (refusals.length > 0) {
    throw new LarkspurError(
      'topic_mismatch',
      `${refusals.length} topics differ in a way that is not mended by itself`,
      {
        cure: 'nothing was changed; see the lines with !',
      },
    );
  }
  if (verb === 'check' && steps.length > 0) {
    throw new LarkspurError('topic_mismatch', `${steps.length} changes are needed`, {
      cure: 'run `larkspur topics apply`',
    });
  }
}
