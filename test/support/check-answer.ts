import { expect } from 'vitest';
import { z } from 'zod';
import { CONNECTOR_ENDPOINTS } from '../../src/contract/connector/endpoints.ts';
import { CONNECTOR_ERRORS, connectorErrorBody } from '../../src/contract/connector/errors.ts';
import { SANDBOX_ENDPOINTS } from '../../src/contract/sandbox/endpoints.ts';
import { SANDBOX_ERRORS, sandboxErrorBody } from '../../src/contract/sandbox/errors.ts';
import type { EndpointDefinition } from '../../src/contract/schema/endpoint.ts';
import { SERVICE_ENDPOINTS } from '../../src/contract/service/endpoints.ts';
import { ERRORS, type ErrorCode } from '../../src/contract/service/errors.ts';

/** An answer as received; `body` is parsed JSON, null for none. */
export interface WireAnswer {
  readonly status: number;
  readonly body: unknown;
  header(name: string): string | null;
}

/** The contract of an API's answers. */
interface ApiPromises {
  readonly endpoints: readonly EndpointDefinition[];
  /** Shape of a refusal with this code. */
  readonly refusal: (code: string) => z.ZodType;
  /** Statuses that go with a code. */
  readonly statuses: (code: string) => readonly number[];
  /** Codes of a call that leads to no endpoint. */
  readonly elsewhere: readonly string[];
}

const SERVICE_STATUSES = new Map<string, readonly number[]>(
  Object.entries(ERRORS).map(([code, { statuses }]) => [code, statuses]),
);
const serviceStatuses = (code: string): readonly number[] => SERVICE_STATUSES.get(code) ?? [];

function statusesOf(own: Readonly<Record<string, { readonly status: number }>>) {
  const table = new Map(Object.entries(own).map(([code, { status }]) => [code, [status]]));
  return (code: string): readonly number[] => [...(table.get(code) ?? []), ...serviceStatuses(code)];
}

const invalidRequest = z.object({
  error: z.literal('invalid_request'),
  field: z.string().min(1),
  hint: z.string().min(1).optional(),
});

/** The APIs whose answers are checked, by the part of the address that leads to them. */
export const CHECKED_APIS = {
  service: {
    endpoints: Object.values(SERVICE_ENDPOINTS),
    refusal: (code) => (code === 'invalid_request' ? invalidRequest : z.object({ error: z.string() })),
    statuses: serviceStatuses,
    elsewhere: ['invalid_key', 'invalid_token', 'ip_not_allowed', 'not_found', 'method_not_allowed'],
  },
  sandbox: {
    endpoints: Object.values(SANDBOX_ENDPOINTS),
    refusal: () => sandboxErrorBody,
    statuses: statusesOf(SANDBOX_ERRORS),
    elsewhere: [
      'foreign_origin',
      'unsupported_media_type',
      'invalid_request',
      'not_found',
      'method_not_allowed',
    ],
  },
  connector: {
    endpoints: Object.values(CONNECTOR_ENDPOINTS),
    refusal: () => connectorErrorBody,
    statuses: statusesOf(CONNECTOR_ERRORS),
    elsewhere: ['unauthorized', 'not_found', 'method_not_allowed'],
  },
} as const satisfies Readonly<Record<string, ApiPromises>>;

const CHALLENGED: ReadonlySet<string> = new Set<ErrorCode>([
  'invalid_key',
  'invalid_token',
  'ip_not_allowed',
  'insufficient_scope',
]);

function leadsTo(pattern: string, path: string): boolean {
  const segments = path.split('/');
  const expected = pattern.split('/');
  return (
    segments.length === expected.length &&
    expected.every((part, index) =>
      part.startsWith('{') ? segments[index] !== '' : part === segments[index],
    )
  );
}

/** Fails if a body has a key that the shape does not list, or lacks one, at any depth that it lists. */
function expectExactly(schema: z.ZodType, body: unknown, call: string): void {
  const read = schema.safeParse(body);
  expect(read.success ? null : z.prettifyError(read.error), `${call} answered another shape`).toBeNull();
  expect(body, `${call} answered a key that is not documented`).toEqual(read.data);
}

/**
 * Fails the running test unless the answer is one that the API's contract lists for this call: the exact shape
 * for a success; for a refusal its body, a code that this endpoint may answer, and a status that goes with it.
 * OpenAPI documents have their own tests.
 * `path` is relative to the API's base address.
 */
export function checkAnswer(
  api: keyof typeof CHECKED_APIS,
  method: string,
  path: string,
  answer: WireAnswer,
): void {
  const promises: ApiPromises = CHECKED_APIS[api];
  const [address = ''] = path.split('?');
  if (address.endsWith('/openapi.json') && answer.status === 200) return;
  const call = `${method} ${address} (${answer.status})`;
  const endpoint = promises.endpoints.find((row) => row.method === method && leadsTo(row.path, address));
  if (answer.status >= 400) {
    checkRefusal(api, call, endpoint?.errors ?? promises.elsewhere, answer);
    return;
  }
  const promised = endpoint?.answers.find(({ status }) => status === answer.status);
  expect(promised, `${call} is no documented answer`).toBeDefined();
  for (const { name, required } of promised?.headers ?? []) {
    if (required === true) expect(answer.header(name), `${call} lacks ${name}`).not.toBeNull();
  }
  if (promised?.schema !== undefined) expectExactly(promised.schema, answer.body, call);
}

function checkRefusal(
  api: keyof typeof CHECKED_APIS,
  call: string,
  codes: readonly string[],
  answer: WireAnswer,
): void {
  const promises: ApiPromises = CHECKED_APIS[api];
  const { error: code } = z.object({ error: z.string() }).parse(answer.body);
  expectExactly(promises.refusal(code), answer.body, call);
  expect(codes, `${call} answered an undocumented code`).toContain(code);
  expect(promises.statuses(code), `${call} answered ${code} with another status`).toContain(answer.status);
  if (api !== 'service') return;
  if (CHALLENGED.has(code)) expect(answer.header('www-authenticate'), call).toMatch(/^Bearer .*error="/);
  if (code === 'method_not_allowed') expect(answer.header('allow'), call).toMatch(/^[A-Z]+/);
}
