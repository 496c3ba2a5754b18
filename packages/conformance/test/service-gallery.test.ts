import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../certify/src/report/report.ts';
import { UNKNOWN_ID } from '../src/service/requests.ts';
import { SERVICE_CHECKS } from '../src/suite.ts';
import { BROKEN_DELIVERIES, startCourier } from './broken-courier.ts';
import { BROKEN_GRANTS, BROKEN_OAUTH } from './broken-oauth.ts';
import { type Breakage, eachOf, gradeThrough, json, startBrokenProxy } from './broken-proxy.ts';
import { BROKEN_RULES } from './broken-rules.ts';
import { grade, makeDeliveredWorkspace, useGradedService } from './graded-service.ts';

const FAILED = ['fail', 'differs'];
/** A short wait for what never comes. */
const SHORT_MS = 3_000;
const NEVER_COME = ['delivery.arrives', 'delivery.three-attempts', 'delivery.redirect'];

/** The checks to run for a rule. Those that review the run need a run to review. */
function selectionFor(found: string): readonly string[] {
  return found.startsWith('wire.') ? ['send.required', 'wire.'] : [found];
}

const resultsOf = ({ results }: Report): readonly string[] =>
  results.map(({ id, result }) => `${id} ${result}`);

/** The results of these checks of a service with this difference. */
const gradeWith = async (breakage: Breakage, ...only: readonly string[]) =>
  resultsOf((await gradeThrough(graded, breakage, { only })).report);

const { service, graded } = useGradedService();

describe('a service that does what the specification leaves open', () => {
  it('may name the error of a challenge without quotes, and the end of a rate limit as a date', async () => {
    const results = await gradeWith(
      {
        answer({ status, headers, body }) {
          const challenge = headers['www-authenticate'];
          if (challenge !== undefined)
            headers['www-authenticate'] = challenge.replace(/error="(\w+)"/, 'error=$1');
          if (status !== 429 || body?.error !== 'rate_limited') return;
          headers['retry-after'] = new Date(Date.now() + 600_000).toUTCString();
        },
      },
      'scope.challenge',
      'pairing.cap.retry-after',
    );
    expect(results).toEqual(['scope.challenge pass', 'pairing.cap.retry-after pass']);
  });

  it('may count requests with an invalid number towards the cap on pairing codes', async () => {
    const asked = new Map<string, number>();
    const limit = { status: 429, headers: { 'retry-after': '60' }, body: { error: 'rate_limited' } };
    const results = await gradeWith(
      {
        ask: ({ path }) => {
          if (!path.endsWith('/pairing-code')) return undefined;
          asked.set(path, (asked.get(path) ?? 0) + 1);
          return Number(asked.get(path)) > 5 ? limit : undefined;
        },
      },
      'pairing.phone',
    );
    expect(results).toEqual(['pairing.phone.unknown-connection pass', 'pairing.phone.invalid pass']);
  });

  it('may count them, and is still detected if it accepts the last of them', async () => {
    const asked = new Map<string, number>();
    const results = await gradeWith(
      {
        ask: ({ path, body }) => {
          if (!path.endsWith('/pairing-code')) return undefined;
          asked.set(path, (asked.get(path) ?? 0) + 1);
          if (Number(asked.get(path)) > 5) return json(429, { error: 'rate_limited' });
          return typeof body.phoneNumber === 'number' ? json(200, { code: 'ABCD-1234' }) : undefined;
        },
      },
      'pairing.phone',
    );
    expect(results).toEqual(['pairing.phone.unknown-connection fail', 'pairing.phone.invalid fail']);
  });

  it('may have a second key without a scope, which shows nothing about isolation', async () => {
    const results = await gradeWith(
      {
        ask: ({ path, headers }) =>
          headers['authorization'] === `Bearer ${graded.inputs.secondApiKey}` && /^\/connections\//.test(path)
            ? json(403, { error: 'insufficient_scope' })
            : undefined,
      },
      'isolation.detail',
      'isolation.messages',
      'isolation.manage',
    );
    expect(results).toEqual([
      'isolation.detail skip',
      'isolation.detail.same skip',
      'isolation.messages pass',
      'isolation.manage skip',
    ]);
  });

  it('is not judged with a second key that it does not know', async () => {
    const only = ['isolation.list', 'oauth.grant.isolation'];
    const { results } = await grade(graded, { only }, { secondApiKey: 'msk_mistyped' });
    const refused = { result: 'skip', reason: '--second-api-key is refused: 401 invalid_key' };
    expect(results).toMatchObject([
      { id: 'oauth.grant.isolation', ...refused },
      { id: 'isolation.list', ...refused },
    ]);
  });

  it('may have no second page, and thus no cursor that another workspace could use', async () => {
    const results = await gradeWith(
      {
        answer: ({ body }) =>
          void (body.messages && Object.assign(body, { nextCursor: null, hasMore: false })),
      },
      'isolation.cursor',
    );
    expect(results).toEqual(['isolation.cursor skip']);
  });

  it('may name no field of a body that is not a JSON object', async () => {
    const results = await gradeWith(
      {
        answer: ({ body }, request) => {
          if (typeof request.body !== 'object' || Array.isArray(request.body)) delete body.field;
        },
      },
      'send.required',
      'wire.malformed-json',
      'wire.error-field',
    );
    expect(results).toEqual(['send.required pass', 'wire.malformed-json pass', 'wire.error-field pass']);
  });

  it('may look for the connection of a send before its body, which is then judged with a live one', async () => {
    const results = await gradeWith(
      {
        ask: ({ method, path, body }) =>
          method === 'POST' && path === '/messages' && body?.connectionId === UNKNOWN_ID
            ? json(404, { error: 'not_found' })
            : undefined,
      },
      'send.text',
      'send.neither',
      'send.to',
      'send.media.required',
    );
    expect(results.filter((result) => !result.endsWith(' pass'))).toEqual([
      'send.to.refused skip',
      'send.to.code skip',
    ]);
  });

  it('may add fields to each response, such as an id of the request, and has its fields in any order', async () => {
    let reads = 0;
    const breakage: Breakage = {
      answer(answer) {
        const further = { requestId: randomUUID(), read: { number: ++reads, labels: [] } };
        for (const message of answer.body.messages ?? []) Object.assign(message, further);
        const fields = Object.entries({ ...answer.body, ...further });
        answer.body = Object.fromEntries(reads % 3 === 0 ? fields.toReversed() : fields);
      },
    };
    const legacy = await startBrokenProxy(service.info.legacyBaseUrl, breakage);
    const only = { only: ['legacy.'] };
    const { report } = await gradeThrough(graded, breakage, only, { legacyBaseUrl: legacy.baseUrl });
    await legacy.close();
    expect(resultsOf(report)).toEqual(['legacy.reads pass', 'legacy.messages pass', 'legacy.refusals pass']);
  });

  it('may have no events before a webhook is set', async () => {
    const unset: Breakage = {
      answer: ({ body }, { method, path }) =>
        void (method === 'GET' && path === '/webhook' && Object.assign(body, { url: null, events: [] })),
    };
    const { report } = await gradeThrough(graded, unset, {
      only: ['webhook.get.shape', 'webhook.get.events'],
    });
    expect(resultsOf(report)).toEqual(['webhook.get.shape pass', 'webhook.get.events skip']);
  });
});

describe('an authorization server that does what the specification leaves open', () => {
  const gradeAuth = async (breakage: Breakage, ...only: readonly string[]) => {
    const proxy = await startBrokenProxy(service.info.authUrl, breakage);
    const report = await grade(graded, { only }, { authUrl: proxy.baseUrl });
    await proxy.close();
    return resultsOf(report);
  };
  const redirecting = (location: string): Breakage => ({
    ask: ({ path }) =>
      /^\/oauth\/authorize/.test(path) ? { status: 302, headers: { location }, body: undefined } : undefined,
  });

  it('may count the seconds of a token from a moment before its answer', async () => {
    const shorter: Breakage = {
      answer: ({ status, body }, { path }) =>
        void (
          status === 200 &&
          path === '/oauth/token' &&
          Object.assign(body, { expires_in: 899, refresh_token_expires_in: 2_591_999 })
        ),
    };
    expect(await gradeAuth(shorter, 'oauth.token.jwt', 'oauth.refresh.life')).toEqual([
      'oauth.token.jwt pass',
      'oauth.refresh.life pass',
    ]);
  });

  it('may ask who the user is before it reads the request', async () => {
    expect(await gradeAuth(redirecting('/login?return=1'), 'oauth.authorize.')).toEqual([
      'oauth.authorize.pkce skip',
      'oauth.authorize.plain skip',
      'oauth.authorize.type skip',
      'oauth.authorize.redirect skip',
      'oauth.authorize.client skip',
      'oauth.authorize.state skip',
    ]);
  });

  it('may refuse on a page of its own', async () => {
    expect(
      await gradeAuth(
        redirecting('/sorry?error=invalid_request'),
        'oauth.authorize.redirect',
        'oauth.authorize.client',
      ),
    ).toEqual(['oauth.authorize.redirect pass', 'oauth.authorize.client pass']);
  });

  it('may have a query in the address of its endpoint', async () => {
    const policy: Breakage = {
      ask: ({ path }) =>
        /^\/oauth\/authorize/.test(path) && !path.includes('policy=sign-in')
          ? json(404, { error: 'not_found' })
          : undefined,
      answer: ({ body }, { path }) => {
        if (path.endsWith('oauth-authorization-server')) body.authorization_endpoint += '?policy=sign-in';
      },
    };
    expect(await gradeAuth(policy, 'oauth.code.verifier')).toEqual(['oauth.code.verifier pass']);
  });

  it('may refuse a tool without its scope in an answer with 200', async () => {
    const error = { code: -32_000, message: 'insufficient scope' };
    const open: Breakage = {
      answer: (answer) =>
        void (answer.status === 403 && Object.assign(answer, json(200, { jsonrpc: '2.0', id: 1, error }))),
    };
    expect(await gradeAuth(open, 'tools.scope')).toEqual(['tools.scope pass', 'tools.scope.status differs']);
  });

  it('may stream the answer of a tool as an event of several lines, with any characters in its texts', async () => {
    const streaming: Breakage = {
      answer: (answer, { body }) => {
        if (body?.method !== 'tools/call' || answer.status !== 200) return;
        const reply =
          typeof answer.body === 'string' ? JSON.parse(answer.body.replace(/^[^{]*/, '')) : answer.body;
        const text = JSON.stringify({ ...reply, more: 'before\u2028after' }).replace(
          ',"more"',
          '\r\ndata: ,"more"',
        );
        answer.headers['content-type'] = 'text/event-stream';
        answer.body = `event: message\r\ndata: ${text}\r\n\r\n`;
      },
    };
    expect(await gradeAuth(streaming, 'tools.connections')).toEqual(['tools.connections pass']);
  });

  it('may have sessions and an older revision at its tool server, and wait for the end of the handshake', async () => {
    const revision = '2025-03-26';
    const sessions = new Set<string>();
    const refusal = (message: string) =>
      json(400, { jsonrpc: '2.0', id: 1, error: { code: -32_600, message } });
    const strict: Breakage = {
      ask: ({ path, headers, body }) => {
        if (path !== '/api/mcp' || headers['authorization'] === undefined) return undefined;
        const before = body.method === 'initialize' ? revision : 'none';
        const { 'mcp-session-id': session = '', 'mcp-protocol-version': version = before } = headers;
        for (const name of ['mcp-session-id', 'mcp-protocol-version']) delete headers[name];
        if (version !== revision) return refusal('unsupported protocol version');
        if (body.method === 'initialize') return undefined;
        if (body.method === 'notifications/initialized' && body.id === undefined) {
          sessions.add(session);
          return { status: 202, headers: {}, body: undefined };
        }
        return sessions.has(session)
          ? undefined
          : refusal('received a request before initialization was complete');
      },
      answer: (answer, { body }) => {
        if (body?.method !== 'initialize' || answer.status !== 200) return;
        answer.headers['mcp-session-id'] = randomUUID();
        answer.body = JSON.parse(
          JSON.stringify(answer.body).replace(/(protocolVersion\W+)2025-06-18/, `$1${revision}`),
        );
      },
    };
    expect(
      await gradeAuth(strict, 'tools.initialize', 'tools.list', 'tools.connections', 'tools.unknown'),
    ).toEqual(['tools.initialize pass', 'tools.list pass', 'tools.connections pass', 'tools.unknown pass']);
  });
});

describe('a broken service', () => {
  it.each(eachOf(BROKEN_RULES))('is detected: %s → %s', async (_, found, breakage) => {
    const { report } = await gradeThrough(graded, breakage(graded.inputs), { only: selectionFor(found) });
    expect(report.results.find(({ id }) => id === found)).toMatchObject({
      result: expect.stringMatching(/^(fail|differs)$/),
      expected: expect.not.stringContaining('that the check can read'),
      actual: expect.not.stringMatching(/no response|none by then/),
    });
  });

  it.each(eachOf(BROKEN_OAUTH))('is detected by its OAuth: %s → %s', async (_, found, breakage) => {
    const proxy = await startBrokenProxy(service.info.authUrl, breakage());
    const report = await grade(graded, { only: [found] }, { authUrl: proxy.baseUrl });
    await proxy.close();
    expect(report.results.find(({ id }) => id === found)).toMatchObject({
      result: expect.stringMatching(/^(fail|differs)$/),
      expected: expect.not.stringContaining('that the check can read'),
    });
  });

  it.each(eachOf(BROKEN_GRANTS))('is detected by its grants: %s → %s', async (_, found, breakage) => {
    const { report } = await gradeThrough(graded, breakage(), { only: [found] });
    expect(report.results).toMatchObject([{ id: found, result: 'fail' }]);
  });

  it('is detected by every delivery that breaks a rule', async () => {
    const grades = eachOf(BROKEN_DELIVERIES).map(async ([what, found, courier]) => {
      const started: Awaited<ReturnType<typeof startCourier>>[] = [];
      const own = await makeDeliveredWorkspace(service, async (target) => {
        started.push(await startCourier(target, courier));
        return started[0]?.url ?? target;
      });
      const report = await grade(own, {
        only: [found],
        ...(NEVER_COME.includes(found) ? { arrivesMs: SHORT_MS } : {}),
      });
      await own.close();
      await started[0]?.close();
      return [`${what} → ${found}`, report.results[0]?.result];
    });
    const results = await Promise.all(grades);
    expect(results.filter(([, result]) => !FAILED.includes(String(result)))).toEqual([]);
  });

  it('is detected if a rotation changes nothing', async () => {
    const secret = 'a-secret-that-nobody-signs-with';
    const breakage: Breakage = {
      ask: ({ path }) => (path === '/webhook/rotate' ? json(200, { secret }) : undefined),
    };
    const { report } = await gradeThrough(graded, breakage, { only: ['delivery.rotated'] });
    expect(report.results[0]).toMatchObject({ result: 'fail', actual: 'the old one' });
  });

  it('is detected if two workspaces are the same', async () => {
    const only = ['isolation.', 'create.key.per-workspace'];
    const report = await grade(graded, { only }, { secondApiKey: graded.inputs.apiKey });
    const kept = report.results.filter(({ result }) => !FAILED.includes(result)).map(({ id }) => id);
    expect(kept).toEqual([]);
    expect(report.results.find(({ id }) => id === 'isolation.list')?.hint).toBe(
      'Is --second-api-key a key of another workspace than --api-key?',
    );
  });

  it('is detected if the legacy address answers differently', async () => {
    const legacy = await startBrokenProxy(service.info.legacyBaseUrl, {
      answer: ({ body }) => {
        if (Array.isArray(body.messages)) body.messages[0].text = 'Other words';
        else body.legacy = true;
      },
    });
    const report = await grade(graded, { only: ['legacy.'] }, { legacyBaseUrl: legacy.baseUrl });
    await legacy.close();
    expect(report.results.map(({ id, result }) => `${id} ${result}`)).toEqual([
      'legacy.reads fail',
      'legacy.messages fail',
      'legacy.refusals fail',
    ]);
  });

  it('is detected by checks that exist', () => {
    const ids = SERVICE_CHECKS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const named = Object.keys({ ...BROKEN_RULES, ...BROKEN_DELIVERIES, ...BROKEN_OAUTH, ...BROKEN_GRANTS });
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
    const ofOauth = ids.filter((id) => /^(?:oauth|tools)\./.test(id));
    expect(ofOauth.filter((id) => !named.includes(id))).toEqual([]);
  });
});

describe('the service of this repository', () => {
  it('waits for an answer to a delivery as specified', async () => {
    const own = await makeDeliveredWorkspace(service);
    const report = await grade(own, { only: ['delivery.timeout', 'delivery.success'] });
    await own.close();
    expect(report.results).toMatchObject([
      { id: 'delivery.timeout', result: 'pass' },
      { id: 'delivery.success', result: 'pass' },
    ]);
  });
});
