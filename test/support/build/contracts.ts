import { format, type Options } from 'prettier';
import { stringify } from 'yaml';

import manifest from '../../../package.json' with { type: 'json' };
import { editorSchema } from '../../../src/config/editor-schema.ts';
import { playbookSchema } from '../../../src/config/schema-playbook.ts';
import { scenarioSchema } from '../../../src/config/schema-scenario.ts';
import { auditEntrySchema } from '../../../src/model/audit.ts';
import { callSchema } from '../../../src/model/call.ts';
import { deadLetterHeaders, deadLetterHistorySchema, deadLetterReasons } from '../../../src/model/dead-letter.ts';
import { eventSchema } from '../../../src/model/event.ts';
import { resultSchema } from '../../../src/model/result.ts';
import { type TopicDeclaration, topicDeclarations } from '../../../src/model/topics.ts';

import { dashboardFiles } from './dashboards.ts';
import { metricsPage } from './metric-table.ts';

const draft = 'https://json-schema.org/draft/2020-12/schema';

/** The contracts by the name of their file. */
export const contractSchemas = {
  call: callSchema,
  result: resultSchema,
  event: eventSchema,
  'dead-letter-history': deadLetterHistorySchema,
  'audit-entry': auditEntrySchema,
} as const;

/** Every generated file, formatted as the rest of the project: path from the project's root -> text. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const [name, schema] of Object.entries(contractSchemas)) {
    files.set(`topics/schemas/${name}.schema.json`, json({ $schema: draft, ...schema }));
  }
  for (const topic of topicDeclarations) files.set(`topics/${topic.name}.json`, json(topicFile(topic)));
  files.set('topics/topic.schema.json', json(topicSchema()));
  files.set('topics/asyncapi.yaml', asyncApi());
  for (const [path, dashboard] of dashboardFiles()) files.set(path, json(dashboard));
  files.set('src/config/larkspur.schema.json', json(editorSchema()));
  files.set('deploy/playbooks/playbook.schema.json', json({ $schema: draft, ...playbookSchema }));
  files.set('deploy/scenarios/scenario.schema.json', json({ $schema: draft, ...scenarioSchema }));
  for (const [path, text] of files) files.set(path, await format(text, { ...prettier, filepath: path }));
  files.set('deploy/metrics.md', metricsPage());
  return files;
}

const prettier: Options = manifest.prettier;

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function topicFile({ name, key, schema, ...rest }: TopicDeclaration): object {
  const reference = schema === undefined ? {} : { schema: `schemas/${schema}.schema.json` };
  return { $schema: './topic.schema.json', name, key, ...rest, ...reference };
}

function topicSchema(): object {
  const text = { type: 'string', minLength: 1 };
  const count = { type: 'integer', minimum: 1 };
  const properties = {
    $schema: text,
    name: { ...text, description: 'Logical name; the configured prefix comes in front of it on the broker' },
    partitions: count,
    key: { ...text, description: 'What the key of a record is' },
    retentionMs: { ...count, description: 'retention.ms' },
    cleanup: { const: 'delete', description: 'cleanup.policy' },
    maxMessageBytes: { ...count, description: 'max.message.bytes' },
    minInSync: { ...count, description: 'min.insync.replicas with three replicas' },
    timestamp: { enum: ['CreateTime', 'LogAppendTime'], description: 'message.timestamp.type' },
    owner: { ...text, description: 'Who may write to it' },
    why: text,
    schema: { ...text, description: 'Contract of the value; for dead-letters that of the header larkspur-history' },
  };
  const required = Object.keys(properties).filter((name) => name !== 'schema');
  return { $schema: draft, title: 'Topic', type: 'object', additionalProperties: false, required, properties };
}

const headers = {
  type: 'object',
  properties: {
    traceparent: { type: 'string', description: 'W3C trace context; goes out with the request and comes back' },
    tracestate: { type: 'string', description: 'W3C trace state; goes along with traceparent' },
    'x-request-id': { type: 'string' },
    'x-feishu-openid': { type: 'string', description: 'Set from verified event bodies only' },
    'x-retry-count': { type: 'string' },
  },
};

const deadLetterHeaderSchema = {
  type: 'object',
  required: [deadLetterHeaders.reason, deadLetterHeaders.origin],
  properties: {
    ...headers.properties,
    [deadLetterHeaders.reason]: { enum: [...deadLetterReasons] },
    [deadLetterHeaders.class]: { type: 'string' },
    [deadLetterHeaders.origin]: { type: 'string', description: 'cluster/topic/partition/offset/timestamp' },
    [deadLetterHeaders.attempts]: { type: 'string' },
    [deadLetterHeaders.round]: { type: 'string', description: 'How often a person has sent it again; absent: never' },
    [deadLetterHeaders.trace]: {
      type: 'string',
      description: 'The span that ended here, as a traceparent; absent: not traced',
    },
    [deadLetterHeaders.history]: { $ref: './schemas/dead-letter-history.schema.json' },
  },
};

/** AsyncAPI for the teams on the other side: what they may send, what they may read. */
function asyncApi(): string {
  const sends = new Set(['calls']);
  const reads = new Set(['results', 'events', 'dead-letters']);
  const shared = topicDeclarations.filter(({ name }) => sends.has(name) || reads.has(name));
  const id = (name: string) => name.replace(/-./g, (pair) => pair.slice(1).toUpperCase());
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Larkspur',
      version: '1.0.0',
      description:
        'Topics that other teams produce to and consume from. Names stand behind the configured prefix (default "larkspur."). ' +
        'Generated; the source is src/model.',
    },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(
      shared.map((topic) => [
        id(topic.name),
        {
          address: `{prefix}${topic.name}`,
          description: `${topic.why} Key: ${topic.key}.`,
          parameters: { prefix: { default: 'larkspur.', description: 'kafka.topicPrefix' } },
          messages: { [id(topic.name)]: { $ref: `#/components/messages/${id(topic.name)}` } },
          bindings: { kafka: { partitions: topic.partitions, topicConfiguration: topicConfiguration(topic) } },
        },
      ]),
    ),
    operations: Object.fromEntries(
      shared.map(({ name }) => [
        `${sends.has(name) ? 'receive' : 'send'}-${name}`,
        {
          // Seen from Larkspur: it receives calls and sends the rest.
          action: sends.has(name) ? 'receive' : 'send',
          channel: { $ref: `#/channels/${id(name)}` },
          messages: [{ $ref: `#/channels/${id(name)}/messages/${id(name)}` }],
        },
      ]),
    ),
    components: {
      messages: Object.fromEntries(
        shared.map(({ name, schema }) => [
          id(name),
          name === 'dead-letters'
            ? {
                summary: 'Key, value and headers of the record as it came, with the reason in further headers.',
                contentType: 'application/octet-stream',
                headers: deadLetterHeaderSchema,
                payload: {},
              }
            : { headers, payload: { $ref: `./schemas/${schema ?? ''}.schema.json` } },
        ]),
      ),
    },
  };
  return `# Generated by npm run contracts.\n${stringify(document, { lineWidth: 120, aliasDuplicateObjects: false })}`;
}

function topicConfiguration({ cleanup, retentionMs, maxMessageBytes }: TopicDeclaration): object {
  return { 'cleanup.policy': [cleanup], 'retention.ms': retentionMs, 'max.message.bytes': maxMessageBytes };
}
