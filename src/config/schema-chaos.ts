import { Type } from '@sinclair/typebox';

import { section } from './schema-parts.ts';

/** The section `chaos`. */
export const chaosSchema = section(
  {
    injectFaults: Type.Boolean({ description: 'whether calls of this process may fail on purpose' }),
    faultsFile: Type.String({ minLength: 1, description: 'JSON or YAML with fault rules, looked at each second' }),
  },
  'Faults on purpose',
);
