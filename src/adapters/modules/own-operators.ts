import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { OwnOperator } from '../../ports/own-operator.ts';

/**
 * Loads the modules of `use`. @param modules file URLs
 * @throws LarkspurError `config_invalid` for one that cannot be loaded or is no operator
 */
export async function loadOwnOperators(modules: readonly string[]): Promise<ReadonlyMap<string, OwnOperator>> {
  const loaded = await Promise.all([...new Set(modules)].map(async (url) => [url, await load(url)] as const));
  return new Map(loaded);
}

async function load(url: string): Promise<OwnOperator> {
  const refuse = (why: string, cause?: unknown): LarkspurError =>
    new LarkspurError('config_invalid', `the module ${url} of use ${why}`, {
      cure: 'export default { before(attempt) { }, after(attempt, outcome) { } }, or one of the two',
      cause,
    });
  let operator: Partial<Record<string, unknown>> | undefined;
  try {
    ({ default: operator } = (await import(url)) as { default?: Partial<Record<string, unknown>> });
  } catch (error) {
    throw refuse(`cannot be loaded: ${messageOf(error)}`, error);
  }
  const parts = [operator?.['before'], operator?.['after']];
  const isOperator = parts.some((part) => part !== undefined);
  if (!isOperator || parts.some((part) => part !== undefined && typeof part !== 'function')) {
    throw refuse('has no operator as its default export');
  }
  return operator as OwnOperator;
}
