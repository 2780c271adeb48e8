import type { Config } from '../config/config.ts';
import { LarkspurError } from '../model/errors.ts';
import type { OwnOperator } from '../ports/own-operator.ts';

/** A module is loaded at the start alone. @throws LarkspurError `config_invalid` for an upstream that uses another */
export function refuseUnloaded(upstreams: Config['upstreams'], own: ReadonlyMap<string, OwnOperator>): void {
  for (const { name, use } of Object.values(upstreams)) {
    if (use.every((module) => own.has(module))) continue;
    throw new LarkspurError('config_invalid', `upstreams.${name}.use names a module that was not there at the start`, {
      cure: 'restart the worker: modules are loaded when it starts',
    });
  }
}
