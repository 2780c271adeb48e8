import { accessSync, constants } from 'node:fs';

import { DeploymentScale } from '../../adapters/kubernetes/deployment.ts';
import type { Config } from '../../config/config.ts';
import type { Playbook, PlaybookStep } from '../../config/playbooks.ts';

import { badFrom, bad, type Finding, ok, warn } from './finding.ts';

/** Whether what playbooks reach outside of the process can be reached; nothing is changed and nobody told. */
export async function playbookFindings({ playbooks }: Pick<Config, 'playbooks'>): Promise<Finding[]> {
  const all = playbooks.map(async (playbook) => {
    const troubles = await Promise.all(playbook.steps.map((step) => findingOf(playbook, step)));
    const found = troubles.filter((finding) => finding !== undefined);
    return found.length > 0
      ? found
      : [ok(`playbook-${playbook.name}`, `${playbook.condition}: ${stepsText(playbook)}`)];
  });
  return (await Promise.all(all)).flat();
}

function stepsText({ steps }: Playbook): string {
  const rehearsed = steps.filter(({ dryRun }) => dryRun).length;
  return `${steps.length} steps${rehearsed === 0 ? '' : `, ${rehearsed} of them rehearsed only`}`;
}

async function findingOf({ name }: Playbook, { scale, alert }: PlaybookStep): Promise<Finding | undefined> {
  const at = `playbook-${name}`;
  if (alert?.feishu !== undefined && alert.feishu.secret === undefined) {
    return warn(
      at,
      'its bot has no secret: whoever knows the address may post',
      'switch signing on in the group, and name the secret',
    );
  }
  if (scale?.command !== undefined) {
    const [program = ''] = scale.command;
    return program.includes('/') ? executable(at, program) : undefined;
  }
  if (scale?.deployment === undefined) return undefined;
  try {
    await new DeploymentScale({ ...scale, namespace: scale.namespace ?? 'default', name: scale.deployment }).replicas();
    return undefined;
  } catch (error) {
    return badFrom(at, error, 'let the service account get and patch deployments/scale in that namespace');
  }
}

function executable(at: string, program: string): Finding | undefined {
  try {
    accessSync(program, constants.X_OK);
    return undefined;
  } catch {
    return bad(at, `${program} cannot be run`, 'name a program that this user may run');
  }
}
