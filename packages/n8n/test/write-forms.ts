/** Makes the forms of the nodes from the OpenAPI document of the connector. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../../test/support/root.ts';

/** The operations of the node, as the document calls them. */
const OPERATIONS = [
  ...['queueMessage', 'getOutbound', 'listMessages', 'getMessage'],
  ...['sendReadReceipt', 'listConnections'],
];
/** What the trigger sets itself, or nobody needs for a workflow. */
const NOT_OF_TRIGGER = ['name', 'kind', 'url', 'filter', 'from', 'placeChanges', 'placeMs'];

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: 'path' | 'query';
    readonly required: boolean;
    readonly description: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}
interface Content {
  readonly content: { readonly 'application/json': { readonly schema: Schema } };
}
type Field = Readonly<Record<string, unknown>>;

const document = parse(readFileSync(join(ROOT, 'docs/openapi/connector.yaml'), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

function resolve({ $ref, ...rest }: Schema): Schema {
  return $ref === undefined
    ? rest
    : { ...document.components.schemas[$ref.replace('#/components/schemas/', '')], ...rest };
}
const schemaOf = ({ content }: Content): Schema => resolve(content['application/json'].schema);

const title = (name: string): string =>
  name
    .replace(/[A-Z]/g, ' $&')
    .replace(/^./, (first) => first.toUpperCase())
    .replace(/\bId(s?)\b/g, 'ID$1');
const html = (text = ''): string => text.replace(/`([^`]+)`/g, '<code>$1</code>');
const choices = (values: readonly string[]) => values.map((value) => ({ name: value, value }));

/** A choice among the connections: a method of both nodes. */
const CONNECTIONS = { loadOptionsMethod: 'listConnections' };

/** The control of a value. */
function control(name: string, schema: Schema): Field {
  const { type, minimum, maximum } = schema;
  if (name === 'connectionId') return { type: 'options', typeOptions: CONNECTIONS, default: '' };
  if (name === 'connectionIds') return { type: 'multiOptions', typeOptions: CONNECTIONS, default: [] };
  if (schema.enum) return { type: 'options', options: choices(schema.enum), default: schema.enum[0] };
  if (schema.items?.enum) return { type: 'multiOptions', options: choices(schema.items.enum), default: [] };
  if (type === 'boolean') return { type, default: false };
  if (type === 'integer') {
    const typeOptions = { minValue: minimum, maxValue: maximum };
    return { type: 'number', typeOptions, default: schema.default ?? minimum };
  }
  if (type === 'string') return { type, default: '' };
  throw new Error(`no control for ${name}: ${type}`);
}

type Place = 'body' | 'query' | undefined;
/** How a value is sent: always, or unless it is empty. */
const sent = (property: string, place: Place, isOptional: boolean): Field =>
  place === undefined
    ? {}
    : {
        routing: {
          send: { type: place, property, ...(isOptional ? { value: '={{ $value || undefined }}' } : {}) },
        },
      };

function field(
  name: string,
  given: Schema,
  place: Place,
  kind: 'required' | 'optional' | 'added',
  path = '',
): Field {
  const schema = resolve(given);
  const named = { displayName: title(name), name, description: html(schema.description) };
  const required = kind === 'required' ? { required: true } : {};
  if (schema.properties === undefined)
    return {
      ...named,
      ...control(name, schema),
      ...required,
      ...sent(path + name, place, kind === 'optional'),
    };
  const values = Object.entries(schema.properties).map(([inner, of]) =>
    field(inner, of, place, schema.required?.includes(inner) ? 'required' : 'optional', `${path}${name}.`),
  );
  const options = [{ displayName: title(name), name: 'value', values }];
  return { ...named, type: 'fixedCollection', default: {}, placeholder: `Add ${title(name)}`, options };
}

const collection = (name: string, options: readonly Field[]): Field => ({
  ...{ displayName: title(name), name, type: 'collection', placeholder: `Add ${title(name)}`, default: {} },
  options,
});

function formOf(
  operation: Operation,
  method: string,
  path: string,
): { readonly choice: Field; readonly fields: Field[] } {
  const { operationId, summary, parameters = [], requestBody, responses } = operation;
  const show = (shown: Field): Field => ({
    ...shown,
    displayOptions: { show: { operation: [operationId] } },
  });
  const isList = parameters.some(({ name }) => name === 'cursor');
  const answer = schemaOf(
    Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1] as Content,
  );
  const list = Object.entries(answer.properties ?? {}).find(([, { type }]) => type === 'array')?.[0];
  const request = {
    method: method.toUpperCase(),
    url: path
      .replace(/^/, path.includes('{') ? '=' : '')
      .replace(/\{(\w+)\}/g, '{{encodeURIComponent($parameter["$1"])}}'),
  };
  const pages = {
    operations: {
      pagination: {
        type: 'generic',
        properties: {
          continue: '={{ $response.body.hasMore }}',
          request: {
            qs: '={{ Object.assign({}, $request.qs, { cursor: $response.body?.nextCursor ?? undefined }) }}',
          },
        },
      },
    },
    output: { postReceive: [{ type: 'rootProperty', properties: { property: list } }] },
  };
  const choice = {
    ...{
      name: title(operationId),
      value: operationId,
      action: title(operationId),
      description: html(summary),
    },
    routing: { request, ...(isList ? pages : {}) },
  };

  const inPath = parameters
    .filter((one) => one.in === 'path')
    .map(({ name, description, schema }) => field(name, { ...schema, description }, undefined, 'required'));
  const added = parameters
    .filter((one) => one.in === 'query' && one.name !== 'cursor')
    .map(({ name, description, schema }) => field(name, { ...schema, description }, 'query', 'added'));
  const body = requestBody === undefined ? {} : schemaOf(requestBody);
  const inBody = Object.entries(body.properties ?? {}).map(([name, schema]) =>
    field(name, schema, 'body', body.required?.includes(name) ? 'required' : 'optional'),
  );
  const all = {
    ...{ displayName: 'Return All', name: 'returnAll', type: 'boolean', default: false },
    description: 'Whether all pages are read, and not only the first',
    routing: { send: { paginate: '={{ $value }}' } },
  };
  const fields = [
    ...inPath,
    ...inBody,
    ...(isList ? [all] : []),
    ...(added.length > 0 ? [collection('options', added)] : []),
  ];
  return { choice, fields: fields.map(show) };
}

function operationsForm(): readonly Field[] {
  const found = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const forms = OPERATIONS.map((id) => {
    const one = found.find(({ operation }) => operation.operationId === id);
    if (one === undefined) throw new Error(`the document has no ${id}`);
    return formOf(one.operation, one.method, one.path);
  });
  const operation = {
    ...{ displayName: 'Operation', name: 'operation', type: 'options', noDataExpression: true },
    ...{ default: OPERATIONS[0], options: forms.map(({ choice }) => choice) },
  };
  return [operation, ...forms.flatMap(({ fields }) => fields)];
}

/** The text of `src/forms.json`. */
export function buildForms(): string {
  const [http = {}] = document.components.schemas['CreateConsumerRequest']?.oneOf ?? [];
  const fieldsOf = ({ properties = {} }: Schema): Field[] =>
    Object.entries(properties)
      .filter(([name]) => !NOT_OF_TRIGGER.includes(name))
      .map(([name, of]) => field(name, of, undefined, 'added'));
  const forms = {
    operations: operationsForm(),
    filter: collection('filter', fieldsOf(resolve(http.properties?.['filter'] ?? {}))),
    options: collection('options', fieldsOf(http)),
  };
  return `${JSON.stringify(forms, null, 2)}\n`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'packages/n8n/src/forms.json'), buildForms());
