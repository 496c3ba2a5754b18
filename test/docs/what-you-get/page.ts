import { z } from 'zod';
import { change } from '../../../src/contract/connector/changes.ts';
import { webhookEvent } from '../../../src/contract/service/events.ts';
import { writeTable } from '../../support/markdown.ts';
import { CHANGES, EVENTS } from './examples.ts';

/** Path of the page from the root of the project. */
export const WHAT_YOU_GET_PAGE = 'docs/what-you-get.md';

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly description?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** A field of an object, however deep: its name has a dot for each level. */
export interface Field {
  readonly name: string;
  readonly type: string;
  readonly meaning: string;
}

const schemaOf = (schema: z.ZodType): JsonSchema => z.toJSONSchema(schema) as JsonSchema;

/** The fields of an object and of the objects in it. */
export function listFields(schema: JsonSchema, prefix = ''): readonly Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    const name = `${prefix}${key}`;
    const isOptional = schema.required?.includes(key) !== true;
    const type = `${typeOf(field)}${isOptional ? ', may be absent' : ''}`;
    const object = [field, ...(field.anyOf ?? [])].find(({ properties }) => properties !== undefined);
    const inner = object === undefined ? [] : listFields(object, `${name}.`);
    return [{ name, type, meaning: field.description ?? '' }, ...inner];
  });
}

function typeOf({ type = '', format, enum: values, const: constant, anyOf, items }: JsonSchema): string {
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (constant !== undefined) return `\`${constant}\``;
  if (values !== undefined) return 'string';
  if (items !== undefined) return `list of ${typeOf(items)}s`;
  return format === 'date-time' ? 'date-time' : [type].flat().join(' or ');
}

/** The events of the service, and the changes of the connector, by type. */
export const SHAPES = {
  events: Object.fromEntries(
    webhookEvent.options.map((option) => [option.shape.event.value, schemaOf(option)]),
  ),
  changes: Object.fromEntries(change.options.map((option) => [option.shape.type.value, schemaOf(option)])),
};

function table(fields: readonly Field[]): string {
  const rows = fields.map(({ name, type, meaning }) => [`\`${name}\``, type, meaning]);
  return writeTable(['field', 'type', 'meaning'], rows);
}

function json(example: unknown): string {
  return `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
}

/** The part of a change that is not `data`. */
const isOfHead = ({ name }: Field): boolean =>
  !name.startsWith('data.') && name !== 'data' && name !== 'type';

function describeChange(type: keyof typeof CHANGES, sameAs?: string): string {
  const shape = SHAPES.changes[type];
  const fields = listFields(shape?.properties?.['data'] ?? {});
  const parts = [`### ${type}`, json(CHANGES[type])];
  return [...parts, sameAs ?? table(fields)].join('\n\n');
}

function describeEvent(type: keyof typeof EVENTS): string {
  const shape = SHAPES.events[type] ?? {};
  const fields = listFields(shape).filter(({ name }) => name !== 'event');
  const about = shape.properties?.['event']?.description ?? '';
  return [`### ${type}`, about, json(EVENTS[type]), SAME_FIELDS[type] ?? table(fields)].join('\n\n');
}

const SAME_FIELDS: Partial<Record<keyof typeof EVENTS, string>> = {
  'connection.connected':
    'The specification does not show this payload: its fields are those of `connection.disconnected`, and `reason` is null ([fidelity.md](fidelity.md)).',
};

/** Writes `docs/what-you-get.md`: every change and every event, as JSON and as a table of its fields. */
export function buildWhatYouGet(): string {
  const head = listFields(SHAPES.changes['message.created'] ?? {}).filter(isOfHead);
  const types = Object.entries(SHAPES.changes).map(([type, { properties }]) => {
    const when = properties?.['type']?.description ?? '';
    return `| [\`${type}\`](#${type.replace('.', '')}) | ${when} |`;
  });
  return `${[
    '# What you get',
    'Every message and every connection reaches your code as a _change_: a numbered entry of the feed of the connector. The same change arrives in each of these ways; [your-crm.md](your-crm.md) describes them.',
    [
      '| you read it as | what arrives |',
      '|---|---|',
      '| `onChange(change, { key })` of a handler | the change below, and its key |',
      '| `GET /v1/changes`, `GET /v1/changes/stream` | a list, or a stream, of changes |',
      '| a request to your HTTPS address | `{ "key", "attempt", "change" }`, or `{ "attempt", "changes": [{ "key", "change" }] }` in batches |',
      '| a job of a BullMQ queue | `{ "key", "change" }` |',
    ].join('\n'),
    'If you receive the webhooks of the service yourself, you get the [events](#events-of-the-service) at the end of this page instead. The addresses, ids and times in the examples are invented.',
    '## Changes of the connector',
    ['| type | when |', '|---|---|', ...types].join('\n'),
    'Each change has these fields. What `data` contains depends on the type.',
    table([
      ...head.filter(({ name }) => name !== 'messageId'),
      { name: 'type', type: 'string', meaning: 'The type of the change, see above.' },
      ...head
        .filter(({ name }) => name === 'messageId')
        .map((field) => ({
          ...field,
          meaning:
            'Id of the message, assigned by the service. Changes of a connection have none, and those of a send have it once it is known.',
        })),
    ]),
    'What to expect:',
    [
      '| what happens | changes |',
      '|---|---|',
      '| a contact writes | `message.created` |',
      '| the same, but the webhook is lost | `message.created` after the next poll, with `peer` null; `message.updated` if the webhook arrives later |',
      '| you send a text | `outbound.updated` three times (`queued`, `sending`, `sent`), `message.created`, `message.status` as it is delivered and read, and `message.updated` when a poll corrects `createdAt`. If a status is faster than the answer, `message.created` has neither text nor `peer`; `message.updated` adds them |',
      '| the service refuses the text | `outbound.updated` with `rejected`, and the reason in `lastError` |',
      '| a number is logged out, and paired again | `connection.updated` with `needsReconnect` true, until one with false |',
    ].join('\n'),
    describeChange('message.created'),
    describeChange(
      'message.updated',
      'Here a poll has found the message, and its late webhook adds the sender. The fields of `data` are those of `message.created`.',
    ),
    describeChange('message.status'),
    describeChange('outbound.updated'),
    describeChange('connection.updated'),
    describeChange('person.erased'),
    '## Events of the service',
    'The service sends them as signed webhooks, for `qr` connections only. The connector receives them for you. Fields are in snake case, times are in epoch milliseconds, and `event` is the type. [patterns.md](patterns.md) shows how to check the signature.',
    ...Object.keys(EVENTS).map((type) => describeEvent(type as keyof typeof EVENTS)),
  ].join('\n\n')}\n`;
}
