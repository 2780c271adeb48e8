import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ErrorObject } from 'ajv';
import { describe, expect, it } from 'vitest';

import type { CallFault } from '../../../src/model/call.ts';
import { checkCall, contractAjv } from '../../../src/model/contracts.ts';
import { topicDeclarations } from '../../../src/model/topics.ts';
import { contractSchemas, generatedFiles } from '../../support/build/contracts.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const ajv = contractAjv(true);
const validators = Object.entries(contractSchemas).map(([name, schema]) => [name, ajv.compile(schema)] as const);
const topicFileSchema = JSON.parse(read('topics/topic.schema.json')) as object;
const examples = (kind: 'valid' | 'invalid') =>
  readdirSync(join(root, 'topics/examples', kind)).map((file) => ({
    file,
    contract: file.split('.')[0] ?? '',
    content: JSON.parse(read(`topics/examples/${kind}/${file}`)) as unknown,
  }));

describe('generated contracts', async () => {
  it.each([...(await generatedFiles())])('%s is what its source says (else: npm run contracts)', (path, text) => {
    expect(read(path)).toBe(text);
  });

  it('leaves no topic file without a declaration', () => {
    const files = readdirSync(join(root, 'topics')).filter(
      (file) => /\.json$/.test(file) && file !== 'topic.schema.json',
    );

    expect(files.sort()).toEqual(topicDeclarations.map(({ name }) => `${name}.json`).sort());
  });

  it.each(topicDeclarations.map(({ name }) => name))('topics/%s.json fits the schema of topic files', (name) => {
    expect(ajv.validate(topicFileSchema, JSON.parse(read(`topics/${name}.json`)))).toBe(true);
  });

  it('gives calls and delay topics equal partitions, because one worker owns partition p of them all', () => {
    const counts = topicDeclarations.filter(({ name }) => /^(calls|retry\.)/.test(name)).map((t) => t.partitions);

    expect(new Set(counts)).toEqual(new Set([12]));
  });

  it.each(['dead-letters', 'retry.10s', 'retry.1m', 'retry.10m', 'retry.1h'])(
    '%s takes any call, with headers',
    (name) => {
      const most = (topic: string) => topicDeclarations.find((t) => t.name === topic)?.maxMessageBytes ?? 0;

      expect(most(name) - most('calls')).toBeGreaterThanOrEqual(64 * 1024);
    },
  );
});

describe('examples', () => {
  it.each(validators.map(([name]) => name))('there are valid and invalid ones of %s', (name) => {
    expect(examples('valid').some(({ contract }) => contract === name)).toBe(true);
    expect(examples('invalid').some(({ contract }) => contract === name)).toBe(true);
  });

  it.each(examples('valid'))('$file is accepted', ({ contract, content }) => {
    const validate = validators.find(([name]) => name === contract)?.[1];

    expect([validate?.(content), validate?.errors]).toEqual([true, null]);
  });

  const calls = (kind: 'valid' | 'invalid') => examples(kind).filter(({ contract }) => contract === 'call');

  it.each(calls('valid'))('$file passes every rule for calls', ({ content }) => {
    expect(checkCall(content)).toEqual({ ok: true, call: content });
  });

  it.each(calls('invalid'))('$file is refused with exactly the faults it names', ({ content }) => {
    const { faults, value } = content as { faults: CallFault[]; value: unknown };
    const check = checkCall(value);
    const byPlace = (a: CallFault, b: CallFault) => a.at.localeCompare(b.at);

    expect(check.ok ? [] : [...check.faults].sort(byPlace)).toEqual([...faults].sort(byPlace));
  });

  it.each(examples('invalid').filter(({ contract }) => contract !== 'call'))(
    '$file is refused where it says',
    ({ contract, content }) => {
      const { faults, value } = content as { faults: { at: string }[]; value: unknown };
      const validate = validators.find(([name]) => name === contract)?.[1];

      expect(validate?.(value)).toBe(false);
      expect([...new Set(validate?.errors?.map(placeOf))]).toEqual(faults.map(({ at }) => at));
    },
  );
});

function placeOf({ instancePath, params }: ErrorObject): string {
  return 'missingProperty' in params ? `${instancePath}/${String(params['missingProperty'])}` : instancePath;
}
