import type { z } from 'zod';
import type { EndpointDefinition, HeaderDefinition, ResponseDefinition } from '../schema/endpoint.ts';
import type {
  JsonSchema,
  OpenApiHeader,
  OpenApiMedia,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
} from './document.ts';
import type { SchemaBook } from './schemas.ts';

/** What all operations of one API share. */
export interface OperationStyle {
  readonly book: SchemaBook;
  readonly errorBody: z.ZodType;
  /** Statuses and meaning of an error code. */
  readonly error: (code: string) => { readonly statuses: readonly number[]; readonly meaning: string };
  /** The security requirement of an endpoint that takes a credential. */
  readonly security: OpenApiOperation['security'];
}

/** One endpoint as an OpenAPI operation. */
export function describeOperation(
  name: string,
  endpoint: EndpointDefinition,
  style: OperationStyle,
): OpenApiOperation {
  const parameters = describeParameters(endpoint, style.book);
  const { body } = endpoint;
  return {
    operationId: name,
    tags: [groupOf(endpoint.path)],
    summary: endpoint.summary,
    description: endpoint.description ?? endpoint.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: body.required,
        content: {
          'application/json': {
            schema: style.book.use(body.schema),
            ...(endpoint.example === undefined ? {} : { example: endpoint.example }),
          },
        },
      },
    }),
    responses: {
      ...describeAnswers(endpoint.answers, style.book),
      ...describeErrors(endpoint.errors, style),
    },
    security: endpoint.credential === false ? [] : style.security,
  };
}

/** The group of an operation in the documents: what its path begins with. */
function groupOf(path: string): string {
  const first = path.replace(/^\/v1/, '').split('/')[1] ?? '';
  if (first === 'webhook') return 'webhooks';
  return ['healthz', 'readyz', 'metrics'].includes(first) ? 'probes' : first;
}

/** Request headers as parameters. */
export function headerParameters(headers: readonly HeaderDefinition[]): OpenApiParameter[] {
  return headers.map((header) => ({
    name: header.name,
    in: 'header',
    required: header.required ?? false,
    description: header.description,
    schema: { type: 'string' },
  }));
}

/** Descriptions of path parameters, by the path segment before them, that do not follow from its name. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'api-keys': 'Id of the API key.',
  consumers: 'Name of the consumer.',
  contacts: 'Phone number of the person: international digits, no `+`.',
  faults: 'Id of the rule.',
  hosts: 'A public host name, as in a webhook URL.',
  messages: 'Id of the message, assigned by the service.',
  messaging: 'Id of the webhook subscription.',
  'oauth-apps': 'Client id of the OAuth app.',
  outbound: 'Id of the send.',
  people: 'A number of the person, in any spelling: international digits, no `+`.',
  start: 'Token of the start URL, as returned by `POST /v1/accounts/oauth`.',
};

/** `dead-letters` contains the id of a dead letter. */
function describeId(segment: string): string {
  return `Id of the ${segment.replace(/ies$/, 'y').replace(/s$/, '').replaceAll('-', ' ')}.`;
}

function describePathParameters(path: string): OpenApiParameter[] {
  return [...path.matchAll(/([^/]+)\/\{(\w+)\}/g)].map(([, segment = '', name = '']) => {
    const description = NAMED_BY[segment] ?? describeId(segment);
    return { name, in: 'path', required: true, description, schema: { type: 'string' } };
  });
}

function describeParameters(endpoint: EndpointDefinition, book: SchemaBook): OpenApiParameter[] {
  const inQuery = endpoint.query === undefined ? [] : book.fields(endpoint.query);
  return [
    ...describePathParameters(endpoint.path),
    ...inQuery.map(({ name, required, schema }): OpenApiParameter => {
      const { description, ...rest } = schema;
      return { name, in: 'query', required, ...(description && { description }), schema: rest };
    }),
    ...headerParameters(endpoint.requestHeaders ?? []),
  ];
}

function describeAnswers(
  answers: readonly ResponseDefinition[],
  book: SchemaBook,
): Record<string, OpenApiResponse> {
  return Object.fromEntries(
    answers.map((answer) => {
      const content = describeContent(answer, book);
      const response: OpenApiResponse = {
        description: answer.description,
        ...(answer.headers && { headers: describeHeaders(answer.headers) }),
        ...(content && { content }),
      };
      return [String(answer.status), response];
    }),
  );
}

function describeContent(
  answer: ResponseDefinition,
  book: SchemaBook,
): Record<string, OpenApiMedia> | undefined {
  const contentType = answer.contentType ?? 'application/json';
  if (answer.schema === undefined)
    return answer.contentType === undefined ? undefined : { [contentType]: {} };
  const schema = book.use(answer.schema);
  if (contentType !== 'text/event-stream') return { [contentType]: { schema } };
  // A stream is text; `contentSchema` describes the parsed data of each event.
  return {
    [contentType]: {
      schema: { type: 'string', contentMediaType: 'application/json', contentSchema: schema },
    },
  };
}

function describeHeaders(headers: readonly HeaderDefinition[]): Record<string, OpenApiHeader> {
  return Object.fromEntries(
    headers.map(({ name, description, required }) => [
      name,
      { description, ...(required && { required }), schema: { type: 'string' } },
    ]),
  );
}

function describeErrors(codes: readonly string[], style: OperationStyle): Record<string, OpenApiResponse> {
  const byStatus = new Map<number, string[]>();
  for (const code of codes) {
    for (const status of style.error(code).statuses) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
  }
  const body = style.book.use(style.errorBody);
  return Object.fromEntries(
    [...byStatus].map(([status, codesOfStatus]) => {
      const error = { enum: codesOfStatus, description: 'The codes that this status can have here.' };
      const schema: JsonSchema = { allOf: [body, { properties: { error } }] };
      const headers = errorHeaders(status);
      const response: OpenApiResponse = {
        description: codesOfStatus.map((code) => `\`${code}\`: ${style.error(code).meaning}`).join(' '),
        ...(headers && { headers }),
        content: { 'application/json': { schema } },
      };
      return [String(status), response];
    }),
  );
}

function errorHeaders(status: number): Record<string, OpenApiHeader> | undefined {
  if (status === 401) {
    return describeHeaders([
      { name: 'WWW-Authenticate', description: '`Bearer`, with an `error` parameter where one applies.' },
    ]);
  }
  if (status === 409 || status === 429 || status === 503) {
    return describeHeaders([{ name: 'Retry-After', description: 'Seconds to wait; not guaranteed.' }]);
  }
  return undefined;
}
