import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { connectorAccount } from '../../src/contract/connector/accounts.ts';
import { CONNECTOR_ENDPOINTS } from '../../src/contract/connector/endpoints.ts';
import { buildDocument } from '../../src/contract/openapi/build.ts';
import type { OpenApiDocument } from '../../src/contract/openapi/document.ts';
import {
  buildConnectorOpenApi,
  buildSandboxOpenApi,
  buildServiceOpenApi,
} from '../../src/contract/openapi.ts';
import { SANDBOX_ENDPOINTS } from '../../src/contract/sandbox/endpoints.ts';
import { SERVICE_ENDPOINTS } from '../../src/contract/service/endpoints.ts';
import { ERRORS, errorBody } from '../../src/contract/service/errors.ts';

const serverUrl = 'https://api.example/api/v1';
const service = buildServiceOpenApi({ serverUrl });
const connector = buildConnectorOpenApi({ serverUrl });
const sandbox = buildSandboxOpenApi({ serverUrl });

function operations(document: OpenApiDocument) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Every value of `$ref` in a document. */
function references(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value] : references(value),
  );
}

/** Every key used anywhere in a document. */
function keys(node: unknown): Set<string> {
  if (typeof node !== 'object' || node === null) return new Set();
  return new Set(Object.entries(node).flatMap(([key, value]) => [key, ...keys(value)]));
}

describe.each([
  ['service', service, SERVICE_ENDPOINTS],
  ['connector', connector, CONNECTOR_ENDPOINTS],
  ['sandbox', sandbox, SANDBOX_ENDPOINTS],
])('the document of the %s', (_name, document, endpoints) => {
  it('is valid OpenAPI 3.1', async () => {
    // The validator treats text of one line as a file name, and modifies the object that it is given.
    const result = await new Validator().validate(JSON.parse(JSON.stringify(document)));
    expect(result).toMatchObject({ valid: true });
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it('contains every endpoint of the table, with its name', () => {
    const found = operations(document).map(
      ({ path, method, operation }) => `${operation.operationId} ${method.toUpperCase()} ${path}`,
    );
    const expected = Object.entries(endpoints).map(([name, { method, path }]) => `${name} ${method} ${path}`);
    expect(found.sort()).toEqual(expected.sort());
  });

  it('resolves every reference, and has no unused definition', () => {
    const referred = new Set(references(document));
    const defined = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect([...referred].sort()).toEqual(defined.sort());
  });

  it('declares every parameter of a path', () => {
    for (const { path, operation } of operations(document)) {
      const declared = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? [];
      expect(
        declared.map((parameter) => `{${parameter.name}}`),
        path,
      ).toEqual(path.match(/\{\w+\}/g) ?? []);
    }
  });

  it('is plain JSON, without traces of the schema library', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    expect(
      [...keys(document)].filter((key) => key.startsWith('~') || key === '$schema' || key === '$id'),
    ).toEqual([]);
    expect(JSON.stringify(document)).not.toContain('inline.');
  });
});

it.each([
  ['service', service, buildServiceOpenApi({ serverUrl, only: ['getAccount'] }), 'getAccount'],
  ['connector', connector, buildConnectorOpenApi({ serverUrl, only: ['healthz'] }), 'healthz'],
  ['sandbox', sandbox, buildSandboxOpenApi({ serverUrl, only: ['getClock'] }), 'getClock'],
])(
  'a narrowed document of the %s contains only the requested endpoints and their schemas',
  (_name, full, narrowed, only) => {
    expect(operations(narrowed).map(({ operation }) => operation.operationId)).toEqual([only]);
    expect(Object.keys(narrowed.components.schemas).length).toBeLessThan(
      Object.keys(full.components.schemas).length,
    );
  },
);

describe('the document of the service', () => {
  it('demands the scope of each endpoint, for either kind of credential', () => {
    for (const { operation } of operations(service)) {
      const { scope } = SERVICE_ENDPOINTS[operation.operationId as keyof typeof SERVICE_ENDPOINTS];
      expect(operation.security).toEqual([{ apiKey: [scope] }, { accessToken: [scope] }]);
    }
    expect(Object.keys(service.components.securitySchemes)).toEqual(['apiKey', 'accessToken']);
  });

  it('groups the errors of an operation by status and names the codes', () => {
    const responses = service.paths['/messages']?.['post']?.responses ?? {};
    expect(Object.keys(responses)).toEqual([
      '200',
      '400',
      '401',
      '402',
      '403',
      '404',
      '409',
      '413',
      '422',
      '429',
      '500',
      '502',
    ]);
    const codes = Object.values(responses).flatMap(
      (response) =>
        JSON.stringify(response.content)
          .match(/(?<="enum":\[)[^\]]+/)?.[0]
          .split(',') ?? [],
    );
    expect(codes.map((code) => JSON.parse(code)).sort()).toEqual(
      [...SERVICE_ENDPOINTS.sendMessage.errors].sort(),
    );
    expect(responses['401']?.headers).toHaveProperty('WWW-Authenticate');
    expect(responses['429']?.headers).toHaveProperty('Retry-After');
  });

  it('describes the create request with its header, and the replay with its own', () => {
    const create = service.paths['/connections']?.['post'];
    expect(create?.parameters).toMatchObject([{ name: 'Idempotency-Key', in: 'header', required: false }]);
    expect(create?.requestBody?.required).toBe(false);
    expect(create?.responses['200']?.headers).toHaveProperty('Idempotency-Replayed');
    expect(create?.responses['201']?.headers).toBeUndefined();
  });

  it('describes the query of the messages as the service parses it', () => {
    const query = service.paths['/messages']?.['get']?.parameters;
    expect(query).toMatchObject([
      { name: 'connectionId', in: 'query', required: false },
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
      },
      { name: 'cursor', in: 'query', required: false },
    ]);
  });

  it('says that a send has exactly one of text and media, and how long a text is', () => {
    expect(service.components.schemas['SendMessageRequest']).toMatchObject({
      oneOf: [{ required: ['text'] }, { required: ['media'] }],
      properties: { text: { maxLength: 4096 } },
    });
  });

  it('allows additional fields in answers', () => {
    for (const schema of Object.values(service.components.schemas)) {
      expect(schema.additionalProperties).toBeUndefined();
    }
  });

  it('describes the four webhooks with their two headers', () => {
    expect(Object.keys(service.webhooks ?? {})).toEqual([
      'message.received',
      'message.status',
      'connection.disconnected',
      'connection.connected',
    ]);
    for (const webhook of Object.values(service.webhooks ?? {})) {
      expect(webhook['post']?.parameters?.map((parameter) => parameter.name)).toEqual([
        'X-Service-Timestamp',
        'X-Service-Signature',
      ]);
    }
  });
});

describe('the other documents', () => {
  it('describe a stream with the data of its events', () => {
    const stream = connector.paths['/v1/changes/stream']?.['get'];
    expect(stream?.responses['200']?.content).toEqual({
      'text/event-stream': {
        schema: {
          type: 'string',
          contentMediaType: 'application/json',
          contentSchema: { $ref: '#/components/schemas/Change' },
        },
      },
    });
    expect(stream?.parameters?.map((parameter) => parameter.name)).toContain('Last-Event-ID');
  });

  it('demand the token of the connector only under /v1', () => {
    expect(connector.paths['/v1/sync']?.['get']?.security).toEqual([{ token: ['read'] }]);
    expect(connector.paths['/webhooks/messaging']?.['post']?.security).toEqual([]);
  });

  it('allow no additional fields in requests of the sandbox', () => {
    expect(sandbox.components.schemas['CreateWorkspaceRequest']?.additionalProperties).toBe(false);
  });
});

describe('a document', () => {
  const source = {
    info: { title: 'x', version: '1', description: 'x' },
    serverUrl,
    modules: [{ connectorAccount }],
    errorBody,
    error: (code: string) => ERRORS[code as keyof typeof ERRORS],
    securitySchemes: {},
    security: () => [],
  };
  const endpoint = { method: 'GET', path: '/x', summary: 'x', answers: [], errors: [] } as const;

  it('cannot be built with two endpoints at one address', () => {
    const twice = {
      ...source,
      endpoints: [
        ['a', endpoint],
        ['b', endpoint],
      ] as const,
    };
    expect(() => buildDocument(twice)).toThrow('two endpoints at GET /x');
  });

  it('fails the validator when its structure is broken', async () => {
    const broken = { ...structuredClone(service), paths: { '/x': { get: { summary: 7 } } } };
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });
});
