import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CONNECTOR_ENDPOINTS } from '../../src/contract/connector/endpoints.ts';
import { SANDBOX_ENDPOINTS } from '../../src/contract/sandbox/endpoints.ts';
import type { EndpointDefinition } from '../../src/contract/schema/endpoint.ts';
import { inputWords } from '../../src/contract/schema/input-words.ts';
import { SERVICE_ENDPOINTS } from '../../src/contract/service/endpoints.ts';
import { SERVICE_TOOLS } from '../../src/contract/service/tools.ts';

function wordsFor(schema: z.ZodType, value: unknown): string[] {
  const read = schema.safeParse(value, { error: inputWords });
  return read.success ? [] : read.error.issues.map(({ message }) => message);
}

const PHRASES = /invalid|expected|, received|too (small|big)|unrecognized/i;
const WRONG = [
  null,
  true,
  -1,
  1.5,
  '',
  '\0',
  'x'.repeat(5_000),
  [],
  [1],
  {},
  { type: 'x' },
  { surface: 'x' },
];
const WRONG_BODIES: readonly unknown[] = [undefined, ...WRONG, 'text'];

describe('the description of an invalid input', () => {
  it.each([
    [z.strictObject({ a: z.string() }), undefined, 'is missing'],
    [z.strictObject({ a: z.string() }), {}, 'is missing'],
    [z.strictObject({ a: z.string() }), [], 'must be an object'],
    [z.string(), 1, 'must be a string'],
    [z.string().min(1), '', 'is empty'],
    [z.string().max(2), 'abc', 'must have at most 2 characters'],
    [z.string().min(2), 'a', 'must have at least 2 characters'],
    [z.int(), 1.5, 'must be an integer'],
    [z.int(), '1', 'must be a number'],
    [z.int().min(1), 0, 'must be at least 1'],
    [z.int().max(9), 10, 'must be at most 9'],
    [z.array(z.string()).min(1), [], 'must have at least 1 entry'],
    [z.boolean(), 'yes', 'must be true or false'],
    [z.enum(['a', 'b']), 'c', 'must be one of `a`, `b`'],
    [z.enum(['a', 'b']), undefined, 'is missing'],
    [z.literal(true), false, 'must be true'],
    [z.url(), 'x', 'must be a URL'],
    [z.base64(), '%', 'must be base64 with padding'],
    [z.string().startsWith('data:'), 'x', 'must start with `data:`'],
    [z.string().regex(/^a$/), 'b', 'is malformed'],
    [z.string().regex(/^a$/, 'must be a'), 'b', 'must be a'],
    [z.iso.datetime(), 'x', 'must be an ISO 8601 date-time with an offset, for example 2026-01-31T12:00:00Z'],
  ])('%# forms a sentence with the name of the field', (schema, value, words) => {
    expect(wordsFor(schema, value)).toEqual([words]);
  });

  it('lists the values of a choice, and reports a missing one as missing', () => {
    const choice = z.discriminatedUnion('type', [
      z.object({ type: z.literal('a') }),
      z.object({ type: z.literal('b') }),
    ]);
    expect(wordsFor(choice, { type: 'c' })).toEqual(['must be one of `a`, `b`']);
    expect(wordsFor(choice, {})).toEqual(['is missing']);
  });

  const tables: Readonly<Record<string, readonly EndpointDefinition[]>> = {
    service: Object.values(SERVICE_ENDPOINTS),
    sandbox: Object.values(SANDBOX_ENDPOINTS),
    connector: Object.values(CONNECTOR_ENDPOINTS),
  };
  const schemas = [
    ...Object.entries(tables).flatMap(([api, endpoints]) =>
      endpoints.flatMap(({ method, path, body, query }) => {
        const named = (schema: z.ZodType | undefined) =>
          schema === undefined ? [] : [[`${api} ${method} ${path}`, schema] as const];
        return [...named(body?.schema), ...named(query)];
      }),
    ),
    ...Object.entries(SERVICE_TOOLS).map(([name, { input }]) => [name, input] as const),
  ];

  it.each(schemas)('contains no phrase of the schema library: %s', (_name, schema) => {
    const keys = Object.keys('shape' in schema ? (schema.shape as object) : {});
    const bodies = [
      ...WRONG_BODIES,
      ...keys.flatMap((key) => WRONG.map((value) => ({ [key]: value, odd: 1 }))),
    ];
    for (const words of bodies.flatMap((body) => wordsFor(schema, body))) {
      expect(words).toMatch(/\w/);
      expect(words).not.toMatch(PHRASES);
    }
  });
});
