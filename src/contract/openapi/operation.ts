import type { z } from 'zod';
import type { AnswerDefinition, EndpointDefinition, HeaderDefinition } from '../endpoint.ts';
import type {
  JsonSchema,
  OpenApiHeader,
  OpenApiMedia,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
} from './document.ts';
import type { SchemaBook } from './schemas.ts';

/** What one API has in common over its operations. */
export interface OperationStyle {
  readonly book: SchemaBook;
  readonly errorBody: z.ZodType;
  /** Statuses and meaning of an error code. */
  readonly error: (code: string) => { readonly statuses: readonly number[]; readonly meaning: string };
  /** What an endpoint with a credential demands. */
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
    summary: endpoint.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: body.required,
        content: { 'application/json': { schema: style.book.use(body.schema) } },
      },
    }),
    responses: {
      ...describeAnswers(endpoint.answers, style.book),
      ...describeErrors(endpoint.errors, style),
    },
    security: endpoint.credential === false ? [] : style.security,
  };
}

/** Headers of a request as parameters. */
export function headerParameters(headers: readonly HeaderDefinition[]): OpenApiParameter[] {
  return headers.map((header) => ({
    name: header.name,
    in: 'header',
    required: header.required ?? false,
    description: header.description,
    schema: { type: 'string' },
  }));
}

function describeParameters(endpoint: EndpointDefinition, book: SchemaBook): OpenApiParameter[] {
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(
    ([, name = '']): OpenApiParameter => ({ name, in: 'path', required: true, schema: { type: 'string' } }),
  );
  const inQuery = endpoint.query === undefined ? [] : book.fields(endpoint.query);
  return [
    ...inPath,
    ...inQuery.map(({ name, required, schema }): OpenApiParameter => {
      const { description, ...rest } = schema;
      return { name, in: 'query', required, ...(description && { description }), schema: rest };
    }),
    ...headerParameters(endpoint.requestHeaders ?? []),
  ];
}

function describeAnswers(
  answers: readonly AnswerDefinition[],
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
  answer: AnswerDefinition,
  book: SchemaBook,
): Record<string, OpenApiMedia> | undefined {
  const contentType = answer.contentType ?? 'application/json';
  if (answer.schema === undefined)
    return answer.contentType === undefined ? undefined : { [contentType]: {} };
  const schema = book.use(answer.schema);
  if (contentType !== 'text/event-stream') return { [contentType]: { schema } };
  // A stream is text; `contentSchema` says what the data of each event parses to.
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
      const schema: JsonSchema = { allOf: [body, { properties: { error: { enum: codesOfStatus } } }] };
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
      { name: 'WWW-Authenticate', description: '`Bearer`, with an error parameter where one fits.' },
    ]);
  }
  if (status === 409 || status === 429 || status === 503) {
    return describeHeaders([{ name: 'Retry-After', description: 'Seconds to wait; not guaranteed.' }]);
  }
  return undefined;
}
