import { describe, expect, it } from 'vitest';
import { checkAnswer } from '../support/check-answer.ts';
import { readSources, type SourceFile, TESTS } from './source-files.ts';
import { lineAt, splitSource } from './source-parts.ts';

/** Files that call the API directly, and why. All others use callers that check. */
const CALLERS: Readonly<Record<string, string>> = {
  'test/support/platform.ts': 'checks every answer',
  'packages/conformance/test/broken-proxy.ts': 'passes answers on, to break them on purpose',
  'packages/certify/test/gallery/integrations.ts':
    'is the integration that is judged, and faults forge its answers',
};

const SENDS = /\b(?:fetch|ky(?:\.\w+)?|http\.request|openRequest)\s*\(/g;
const LEADS_TO_API = /\/api\/v1\b|\b\w*[bB]aseUrl\b/;

/** The text from the parenthesis at `from` to its match. */
function argumentsAt({ code, source }: SourceFile, from: number): string {
  let depth = 0;
  for (let at = from; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1;
    if (code[at] === ')') depth -= 1;
    if (depth === 0) return source.slice(from, at);
  }
  return source.slice(from);
}

function findCalls(file: SourceFile): string[] {
  return [...file.code.matchAll(SENDS)]
    .filter(({ index, 0: call }) => LEADS_TO_API.test(argumentsAt(file, index + call.length - 1)))
    .map(({ index }) => `${file.path}:${lineAt(file.source, index)}`);
}

const parse = (source: string): SourceFile => ({ path: 'test/x.test.ts', source, ...splitSource(source) });
const files = readSources(...TESTS);

describe('answers of the API in tests', () => {
  it('are checked: no test bypasses the callers that check (use `call` of test/support/platform.ts)', () => {
    const others = files.filter(({ path }) => !Object.hasOwn(CALLERS, path));
    expect(others.flatMap(findCalls)).toEqual([]);
  });

  it('have no unused exemption', () => {
    const calling = files.filter((file) => findCalls(file).length > 0).map(({ path }) => path);
    expect(Object.keys(CALLERS).filter((path) => !calling.includes(path))).toEqual([]);
  });

  it.each([
    `await fetch(\`\${service.origin}/api/v1\${path}\`)`,
    `fetch(\`\${info.baseUrl}/messages\`, { method: 'POST' })`,
    "ky.get(legacyBaseUrl + '/connections')",
    "http.request({ path: '/api/v1/webhook' })",
  ])('are found in %s', (source) => {
    expect(findCalls(parse(source))).toHaveLength(1);
  });

  it.each(["fetch(url + '/healthz')", "call('GET', '/connections')", "// fetch('/api/v1/x')"])(
    'are not found in %s',
    (source) => {
      expect(findCalls(parse(source))).toEqual([]);
    },
  );
});

describe('the check of an answer', () => {
  const check = (method: string, path: string, status: number, body: unknown, headers: object = {}) => {
    const header = (name: string): string | null => new Headers({ ...headers }).get(name);
    checkAnswer('service', method, path, { status, body, header });
  };
  const challenge = { 'www-authenticate': 'Bearer error="invalid_token"' };
  const webhook = { url: null, events: ['message.received'], secretSet: false };

  it('passes what the contract lists', () => {
    check('GET', '/webhook', 200, webhook);
    check('GET', '/connections/c1?x=1', 404, { error: 'not_found' });
    check('GET', '/connections', 401, { error: 'invalid_key' }, challenge);
    check('GET', '/messages?limit=0', 400, { error: 'invalid_request', field: 'limit', hint: 'too few' });
    check('GET', '/nothing', 404, { error: 'not_found' });
    check('PATCH', '/messages', 405, { error: 'method_not_allowed' }, { allow: 'GET, POST' });
  });

  it.each([
    ['a key too many', 'GET', '/webhook', 200, { ...webhook, secret: 's' }, {}],
    ['a key too few', 'GET', '/webhook', 200, { url: null, events: [] }, {}],
    ['another type', 'GET', '/webhook', 200, { ...webhook, secretSet: 'no' }, {}],
    ['another success', 'GET', '/webhook', 201, webhook, {}],
    ['a replay that is not marked as one', 'POST', '/connections', 200, { connection: {} }, {}],
    ['a code that this call cannot answer', 'GET', '/webhook', 404, { error: 'not_found' }, {}],
    ['an unknown code', 'GET', '/webhook', 400, { error: 'teapot' }, {}],
    ['a code under another status', 'GET', '/messages', 422, { error: 'invalid_request', field: 'x' }, {}],
    ['no field', 'GET', '/messages', 400, { error: 'invalid_request' }, {}],
    ['a field beside another code', 'POST', '/messages', 400, { error: 'text_or_media', field: 'text' }, {}],
    ['no challenge', 'GET', '/webhook', 401, { error: 'invalid_key' }, {}],
    ['no Allow', 'PATCH', '/messages', 405, { error: 'method_not_allowed' }, {}],
    ['a body that is no refusal', 'GET', '/webhook', 500, null, {}],
  ] as const)('fails for %s', (_what, method, path, status, body, headers) => {
    expect(() => check(method, path, status, body, headers)).toThrow();
  });
});
