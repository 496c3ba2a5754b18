import { describe, expect, it } from 'vitest';
import type { JsonSchema, OpenApiDocument } from '../../src/contract/openapi/document.ts';
import {
  buildConnectorOpenApi,
  buildSandboxOpenApi,
  buildServiceOpenApi,
} from '../../src/contract/openapi.ts';
import { FAULT_ACTIONS } from '../../src/contract/sandbox/fault-actions.ts';
import { SERVICE_ENDPOINTS } from '../../src/contract/service/endpoints.ts';

const serverUrl = 'https://api.example/api/v1';
const service = buildServiceOpenApi({ serverUrl });
const connector = buildConnectorOpenApi({ serverUrl });
const sandbox = buildSandboxOpenApi({ serverUrl });

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

/** Schemas inside a schema that describe the same value, or an unnamed part of it. */
function within({ oneOf = [], anyOf = [], allOf = [], items }: JsonSchema): JsonSchema[] {
  const schemas: readonly unknown[] = [...oneOf, ...anyOf, ...allOf, items];
  return schemas.filter((each): each is JsonSchema => typeof each === 'object' && each !== null);
}

/** The undescribed fields of a schema, at any depth. */
function undescribed(document: OpenApiDocument, schema: JsonSchema, path: string): string[] {
  const isDescribed = (field: JsonSchema): boolean => {
    const name = field.$ref?.split('/').at(-1) ?? '';
    const named = document.components.schemas[name];
    return isText(field.description) || (named !== undefined && isDescribed(named));
  };
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    typeof field === 'object' ? [[`${path}.${name}`, field] as const] : [],
  );
  return [
    ...fields.filter(([, field]) => !isDescribed(field)).map(([name]) => name),
    ...fields.flatMap(([name, field]) => undescribed(document, field, name)),
    ...within(schema).flatMap((each) => undescribed(document, each, path)),
  ];
}

describe.each([
  ['service', service],
  ['connector', connector],
  ['sandbox', sandbox],
])('the document of the %s', (_name, document) => {
  const operations = [document.paths, document.webhooks ?? {}].flatMap((paths) =>
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
    ),
  );

  it('describes every operation, parameter, answer and header', () => {
    const silent = operations.flatMap(({ name, operation }) => [
      ...(isText(operation.summary) && isText(operation.description) ? [] : [name]),
      ...(operation.parameters ?? [])
        .filter((each) => !isText(each.description))
        .map((each) => `${name} ${each.name}`),
      ...Object.entries(operation.responses).flatMap(([status, { description, headers = {} }]) =>
        [{ description }, ...Object.values(headers)].every((each) => isText(each.description))
          ? []
          : [`${name} ${status}`],
      ),
    ]);
    expect(silent).toEqual([]);
  });

  it('describes every field of every body', () => {
    const named = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      undescribed(document, schema, name),
    );
    const inline = operations.flatMap(({ name, operation }) =>
      [operation.requestBody, ...Object.values(operation.responses)].flatMap((each) =>
        Object.values(each?.content ?? {}).flatMap(({ schema = {} }) => undescribed(document, schema, name)),
      ),
    );
    expect([...named, ...inline]).toEqual([]);
  });
});

/** The values of a field that its descriptions do not name, at any depth; `outer` is the description around it. */
function unnamedValues(document: OpenApiDocument, schema: JsonSchema, path: string, outer = ''): string[] {
  const named = document.components.schemas[schema.$ref?.split('/').at(-1) ?? ''];
  const texts = [outer, schema.description, named?.description].filter(isText).join(' ');
  const values: readonly unknown[] = [...(schema.enum ?? []), ...(named?.enum ?? [])];
  return [
    ...values.filter((value) => !texts.includes(`\`${value}\``)).map((value) => `${path} ${value}`),
    ...within(schema).flatMap((each) => unnamedValues(document, each, path, texts)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
      typeof field === 'object' ? unnamedValues(document, field, `${path}.${name}`, outer) : [],
    ),
  ];
}

it('the document of the connector explains each value of an enumerated field', () => {
  const named = Object.entries(connector.components.schemas).flatMap(([name, schema]) =>
    unnamedValues(connector, schema, name),
  );
  const ofOperations = Object.entries(connector.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], responses }]) => [
      ...parameters.flatMap(({ name, description, schema }) =>
        unnamedValues(connector, schema, `${method} ${path} ${name}`, description),
      ),
      // The codes of a refusal are explained where the answer is.
      ...Object.entries(responses).flatMap(([status, { description, content = {} }]) =>
        Object.values(content).flatMap(({ schema = {} }) =>
          unnamedValues(connector, schema, `${method} ${path} ${status}`, description),
        ),
      ),
    ]),
  );
  expect([...named, ...ofOperations]).toEqual([]);
});

it('the document of the sandbox explains each fault action', () => {
  const variants = sandbox.components.schemas['FaultAction']?.oneOf ?? [];
  const descriptions = new Map(
    variants.map((variant) => {
      const type = variant.properties?.['type'];
      return typeof type === 'object' ? [type.const, type.description] : [undefined, undefined];
    }),
  );
  const actions = new Set(Object.values(FAULT_ACTIONS).flat());
  expect([...descriptions.keys()].sort()).toEqual([...actions].sort());
  for (const description of descriptions.values())
    expect(description).toMatch(/^(Webhooks|Calls|`POST).*\.$/);
});

it('the document of the service has a valid example of every required body', () => {
  for (const [name, endpoint] of Object.entries(SERVICE_ENDPOINTS)) {
    if (!('body' in endpoint)) continue;
    const { example, body, path, method } = endpoint;
    expect([name, body.schema.safeParse(example).success]).toEqual([name, true]);
    const operation = service.paths[path]?.[method.toLowerCase()];
    expect(operation?.requestBody?.content['application/json']?.example).toEqual(example);
  }
});
