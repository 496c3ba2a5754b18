import { describe, expect, it } from 'vitest';
import type { ReceivedRequest } from '../../support/receiver.ts';
import { isSignedWith } from '../../support/signed-request.ts';
import { useHookedSandbox } from '../hooked-sandbox.ts';

const hook = useHookedSandbox();

const put = (rules: object[], seed?: number) =>
  hook.call('PUT', '/faults', { rules, ...(seed === undefined ? {} : { seed }) });
const hits = async (): Promise<number[]> =>
  (await hook.call('GET', '/faults')).body.rules.map((rule: { hits: number }) => rule.hits);
const settle = () => hook.service.platform.delivery.settle();
const attempts = async () => (await hook.call('GET', '/deliveries?limit=1')).body.entries[0].attempts;
const idOf = (request: ReceivedRequest | undefined): string =>
  JSON.parse(request?.body.toString() ?? '{}').message?.id;
const send = (to: string) =>
  hook.api('POST', '/messages', { connectionId: hook.connectionId, to, text: 'hello' });

const isSigned = (request: ReceivedRequest | undefined): boolean => isSignedWith(hook.secret, request);

describe('faults of webhooks, set over HTTP', () => {
  const onFirst = (action: object) => put([{ id: 'fault', match: { surface: 'webhook' }, action, first: 1 }]);

  it('are listed with their hits', async () => {
    const rule = {
      id: 'twice',
      match: { surface: 'webhook' },
      action: { type: 'duplicate', times: 2 },
      first: 1,
    };
    const { status, body } = await put([rule], 3);
    expect({ status, body }).toEqual({ status: 200, body: { seed: 3, rules: [{ ...rule, hits: 0 }] } });
    await hook.write();
    await hook.write();
    await settle();
    expect(hook.receiver.requests).toHaveLength(4);
    expect(await hits()).toEqual([1]);
    expect((await hook.call('DELETE', '/faults')).body).toEqual({ seed: 1, rules: [] });
  });

  it('are added and removed individually, and the others keep their hits', async () => {
    const rule = (id: string) => ({
      id,
      match: { surface: 'webhook' },
      action: { type: 'duplicate' },
      first: 1,
    });
    const ids = (rules: { id: string; hits: number }[]) => rules.map(({ id, hits: count }) => [id, count]);
    await put([rule('one')], 3);
    await hook.write();
    await settle();
    const added = await hook.call('POST', '/faults', rule('two/2'));
    expect([added.status, added.body.seed, ids(added.body.rules)]).toEqual([
      200,
      3,
      [
        ['one', 1],
        ['two/2', 0],
      ],
    ]);
    await hook.write();
    await settle();
    expect(hook.receiver.requests).toHaveLength(4);
    expect(ids((await hook.call('POST', '/faults', rule('one'))).body.rules)).toEqual([
      ['two/2', 1],
      ['one', 0],
    ]);
    const removed = await hook.call('DELETE', '/faults/two%2F2');
    expect([removed.status, ids(removed.body.rules)]).toEqual([200, [['one', 0]]]);
    expect(await hook.call('DELETE', '/faults/two%2F2')).toMatchObject({
      status: 404,
      body: { error: 'not_found', message: 'No fault rule has this id.' },
    });
  });

  it('for an event, once removed, still apply to the events that they have hit', async () => {
    const lost = { id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, per: 'event' };
    await hook.call('POST', '/faults', { ...lost, first: 1 });
    await hook.write();
    await hook.clock.timerSet(500);
    await hook.call('DELETE', '/faults/lost');
    await hook.clock.advance(500);
    await hook.clock.pass(1_000);
    await settle();
    expect(hook.receiver.requests).toHaveLength(0);
  });

  it('apply to every event that happened before they are removed', async () => {
    await put([{ id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, per: 'event' }]);
    const path = '/contacts/447700900555/messages';
    await hook.call('POST', path, { connectionId: hook.connectionId, text: 'hello', times: 200 });
    await hook.call('DELETE', '/faults');
    const firsts = async () => {
      const { body } = await hook.call('GET', '/deliveries?limit=1000');
      return body.entries.map((entry: { attempts: { error?: string }[] }) => entry.attempts[0]?.error);
    };
    await expect.poll(firsts).toEqual(Array(200).fill('dropped'));
    expect(hook.receiver.requests).toHaveLength(0);
  });

  it('drop: the attempt is not sent, and names the rule', async () => {
    await onFirst({ type: 'drop' });
    await hook.write();
    await hook.clock.pass(500);
    await settle();
    expect(await attempts()).toMatchObject([{ error: 'dropped', faults: ['fault'] }, { status: 200 }]);
    expect(hook.receiver.requests).toHaveLength(1);
  });

  it('drop of an event: all of its attempts are lost, and the ledger contains it', async () => {
    await put([
      { id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, probability: 1, per: 'event' },
    ]);
    const { body: written } = await hook.write();
    await hook.clock.pass(500);
    await hook.clock.pass(1_000);
    await settle();
    expect(hook.receiver.requests).toHaveLength(0);
    expect((await hook.call('GET', '/deliveries')).body.entries[0].outcome).toBe('dropped');
    expect((await hook.call('GET', '/ledger')).body.entries).toMatchObject([
      { seq: 1, messageId: written.messageId },
    ]);
    expect(await hits()).toEqual([1]);
  });

  it('reorder of everything: the last event arrives first', async () => {
    await put([{ id: 'all', match: { surface: 'webhook' }, action: { type: 'reorder' } }]);
    const written = [];
    for (const text of ['one', 'two', 'three']) written.push((await hook.write(text)).body.messageId);
    await expect.poll(hits).toEqual([3]);
    await hook.clock.advance(3_000);
    await settle();
    expect(hook.receiver.requests.map(idOf)).toEqual(written.reverse());
    expect(await hits()).toEqual([3]);
  });

  it('reorder of statuses: delivered and read arrive before sent', async () => {
    const match = { surface: 'webhook', event: 'message.status' };
    await put([{ id: 'all', match, action: { type: 'reorder' } }]);
    await send('491700000010');
    await hook.service.platform.time.advance({ ms: 2_000 });
    await expect.poll(hits).toEqual([3]);
    await hook.clock.advance(3_000);
    await settle();
    const statuses = hook.receiver.requests.map(({ body }) => JSON.parse(body.toString()).message.status);
    expect(statuses).toEqual(['read', 'delivered', 'sent']);
  });

  it('for one workspace do not affect the others', async () => {
    const { body: made } = await hook.call('POST', '/workspaces', { kind: 'standalone' });
    const { id: workspaceId } = made.workspace;
    await put([
      { id: 'theirs', match: { surface: 'webhook', workspaceId }, action: { type: 'drop' } },
      { id: 'calls', match: { surface: 'api', workspaceId }, action: { type: 'status', code: 429 } },
    ]);
    const { body: theirs } = await hook.call('POST', `/workspaces/${workspaceId}/api-keys`);
    const faulted = await hook.service.call('GET', '/connections', { key: theirs.key, faulted: true });
    expect([faulted.status, (await hook.api('GET', '/connections')).status]).toEqual([429, 200]);
    await hook.write();
    await settle();
    expect(hook.receiver.requests).toHaveLength(1);
    expect(await hits()).toEqual([0, 1]);
  });

  it.each([
    ['six minutes unless told', {}, 360_000],
    ['as long as told', { byMs: 3_600_000 }, 3_600_000],
  ])('stale_timestamp: the signature is valid for a time in the past: %s', async (_what, fields, byMs) => {
    await onFirst({ type: 'stale_timestamp', ...fields });
    await hook.write();
    await settle();
    const [stale] = hook.receiver.requests;
    expect(stale?.headers['x-service-timestamp']).toEqual([String(hook.clock.now() - byMs)]);
    expect(isSigned(stale)).toBe(true);
  });

  it('slow: the second half of the body arrives later', async () => {
    await onFirst({ type: 'slow', ms: 3_000 });
    await hook.write();
    await hook.clock.pass(3_000);
    await settle();
    expect(hook.receiver.requests.map(isSigned)).toEqual([true]);
    expect(await attempts()).toMatchObject([{ status: 200, ms: 3_000, faults: ['fault'] }]);
  });

  it('draw the same for the same seed, and differently for another', async () => {
    const outcomes = async (seed: number): Promise<string> => {
      await hook.call('POST', '/reset');
      hook.clock.forget();
      const rule = { match: { surface: 'webhook' }, action: { type: 'drop' }, probability: 0.5 };
      await put([{ id: 'lossy', ...rule }], seed);
      await hook.call('PUT', '/hosts/crm.example.com', { target: hook.receiver.origin });
      await hook.api('PUT', '/webhook', { url: 'https://crm.example.com/' });
      const { connections } = (await hook.api('GET', '/connections')).body;
      await hook.service.platform.messages.receiveMany(
        connections.find(({ provider }: { provider: string }) => provider === 'qr').id,
        Array.from({ length: 40 }, () => ({ from: '491700000009', text: 'hello' })),
      );
      // Whatever is lost is tried again by the clock: only the first attempts are compared.
      const listAttempts = async (): Promise<{ attempts: { error?: string }[] }[]> =>
        (await hook.call('GET', '/deliveries')).body.entries;
      await expect
        .poll(async () => (await listAttempts()).every(({ attempts: made }) => made.length > 0))
        .toBe(true);
      return (await listAttempts()).map((entry) => entry.attempts[0]?.error ?? 'sent').join();
    };
    const first = await outcomes(7);
    expect(first).toContain('dropped');
    expect(first).toContain('sent');
    expect(await outcomes(7)).toBe(first);
    expect(await outcomes(8)).not.toBe(first);
  });
});

describe('faults of the API, set over HTTP', () => {
  it('status: answers instead of the service, and does not affect the next call', async () => {
    const action = { type: 'status', code: 429, error: 'rate_limited', retryAfter: 7 };
    await put([{ id: 'busy', match: { surface: 'api', path: '/messages' }, action, first: 1 }]);
    const refused = await hook.api('GET', '/messages', undefined, { faulted: true });
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 429,
      body: { error: 'rate_limited' },
    });
    expect(refused.headers.get('retry-after')).toBe('7');
    expect((await hook.api('GET', '/messages')).status).toBe(200);
  });

  it('match the path, which may end with an asterisk', async () => {
    const action = { type: 'status', code: 503 };
    await put([
      { id: 'below', match: { surface: 'api', path: '/connections/*' }, action },
      { id: 'all of it', match: { surface: 'api', path: '/webhook*', method: 'POST' }, action },
    ]);
    const status = async (method: string, path: string): Promise<number> =>
      (await hook.api(method, path, undefined, { faulted: true })).status;
    expect(await status('GET', '/connections')).toBe(200);
    expect(await status('GET', `/connections/${hook.connectionId}`)).toBe(503);
    expect(await status('GET', '/webhook')).toBe(200);
    expect(await status('POST', '/webhook/rotate')).toBe(503);
    expect(await hits()).toEqual([1, 1]);
  });

  it('delay: holds a call before it is handled, and no other', async () => {
    const action = { type: 'delay', ms: 4_000 };
    await put([{ id: 'slow', match: { surface: 'api' }, action, first: 1 }]);
    const held = hook.api('GET', '/messages');
    await hook.clock.timerSet(4_000);
    expect((await hook.api('GET', '/messages')).status).toBe(200);
    await hook.clock.advance(4_000);
    expect((await held).status).toBe(200);
  });
});

describe('invalid rules', () => {
  const rule = { id: 'a', match: { surface: 'webhook' }, action: { type: 'drop' } };
  const only = (match: { surface: string; [field: string]: string }, action?: object) => ({
    rules: [{ id: 'a', match, action: action ?? { type: match.surface === 'webhook' ? 'drop' : 'reset' } }],
  });

  const REFUSED: readonly (readonly [what: string, body: object, field: string])[] = [
    ['a field of the body', { rules: [], sed: 1 }, 'sed'],
    ['a field of a rule', { rules: [{ ...rule, chance: 1 }] }, 'rules.0.chance'],
    [
      'a field of the match',
      { rules: [{ ...rule, match: { surface: 'webhook', path: '/' } }] },
      'rules.0.match.path',
    ],
    ['a field of the action', { rules: [{ ...rule, action: { type: 'drop', ms: 1 } }] }, 'rules.0.action.ms'],
    ['the surface', { rules: [{ ...rule, match: { surface: 'wire' } }] }, 'rules.0.match.surface'],
    ['an event', { rules: [{ ...rule, match: { surface: 'webhook', event: 'x' } }] }, 'rules.0.match.event'],
    ['the type of an action', { rules: [{ ...rule, action: { type: 'explode' } }] }, 'rules.0.action.type'],
    [
      'an action of another surface',
      { rules: [{ ...rule, action: { type: 'lost_answer' } }] },
      'rules.0.action.type',
    ],
    ['what an action needs', { rules: [{ ...rule, action: { type: 'delay' } }] }, 'rules.0.action.ms'],
    [
      'a star in the middle',
      { rules: [{ id: 'a', match: { surface: 'api', path: '/a*b' }, action: { type: 'reset' } }] },
      'rules.0.match.path',
    ],
    [
      '`first` beside `probability`',
      { rules: [{ ...rule, first: 1, probability: 1 }] },
      'rules.0.probability',
    ],
    ['a probability past 1', { rules: [{ ...rule, probability: 1.1 }] }, 'rules.0.probability'],
    // Records of attempts have it, and Postgres stores neither.
    ['an id with a NUL', { rules: [{ ...rule, id: 'a\0' }] }, 'rules.0.id'],
    ['an id with half a character', { rules: [{ ...rule, id: 'a\ud83d' }] }, 'rules.0.id'],
    ['an id that is there twice', { rules: [rule, rule] }, 'rules'],
    ['a probability of 0', { rules: [{ ...rule, probability: 0 }] }, 'rules.0.probability'],
    ['a path that no endpoint has', only({ surface: 'api', path: '/message' }), 'rules.0.match.path'],
    ['a beginning that no path has', only({ surface: 'api', path: '/webhooks*' }), 'rules.0.match.path'],
    ['a path below nothing', only({ surface: 'api', path: '/account/a' }), 'rules.0.match.path'],
    ['a path of another surface', only({ surface: 'oauth', path: '/messages' }), 'rules.0.match.path'],
    [
      'a method that the path does not take',
      only({ surface: 'api', method: 'GET', path: '/webhook/rotate' }),
      'rules.0.match.method',
    ],
    [
      'not_persisted of what is no send',
      only({ surface: 'api', path: '/messages/read' }, { type: 'not_persisted' }),
      'rules.0.action.type',
    ],
    [
      'a status that is no failure',
      only({ surface: 'api' }, { type: 'status', code: 200 }),
      'rules.0.action.code',
    ],
    [
      'a status that leads elsewhere',
      only({ surface: 'oauth' }, { type: 'status', code: 302 }),
      'rules.0.action.code',
    ],
    [
      'a status for which not every address has a code',
      only({ surface: 'api', path: '/messages' }, { type: 'status', code: 409 }),
      'rules.0.action.error',
    ],
    [
      'an unknown connection',
      only({ surface: 'webhook', connectionId: 'cnobody' }),
      'rules.0.match.connectionId',
    ],
    [
      'an unknown workspace',
      only({ surface: 'webhook', workspaceId: 'cnobody' }),
      'rules.0.match.workspaceId',
    ],
    [
      'calls of an unknown workspace',
      only({ surface: 'api', workspaceId: 'cnobody' }),
      'rules.0.match.workspaceId',
    ],
  ];

  it('are refused with the name of the field, and replace nothing', async () => {
    await put([{ ...rule, id: 'kept' }]);
    const refusals: object[] = [];
    for (const [what, body] of REFUSED) {
      const answer = await hook.call('PUT', '/faults', body);
      const { rules } = (await hook.call('GET', '/faults')).body;
      const ids = rules.map(({ id }: { id: string }) => id);
      refusals.push({ what, status: answer.status, error: answer.body.error, field: answer.body.field, ids });
    }
    expect(refusals).toEqual(
      REFUSED.map(([what, , field]) => ({
        what,
        status: 400,
        error: 'invalid_request',
        field,
        ids: ['kept'],
      })),
    );
  });

  it('are refused as well if one is added, with the field in the rule', async () => {
    const added = { id: 'new', match: { surface: 'api', path: '/nothing' }, action: { type: 'reset' } };
    expect(await hook.call('POST', '/faults', added)).toMatchObject({
      status: 400,
      body: {
        field: 'match.path',
        message: "'match.path': matches no call: no such path exists under {base_url}.",
      },
    });
    const many = Array.from({ length: 1_000 }, (_, index) => ({ ...rule, id: `rule ${index}` }));
    await put(many);
    expect(await hook.call('POST', '/faults', { ...rule, id: 'rule 7' })).toMatchObject({ status: 200 });
    expect(await hook.call('POST', '/faults', { ...rule, id: 'one more' })).toMatchObject({
      status: 400,
      body: { message: 'There are 1000 rules: remove one first.' },
    });
  });

  it('are refused for events that are never sent: those of a cloud_api connection, or of another workspace', async () => {
    const { workspaceId } = hook.sandbox.seed;
    const phone = { provider: 'cloud_api', phoneNumber: '447700900187' };
    const { body: cloud } = await hook.call('POST', `/workspaces/${workspaceId}/connections`, phone);
    const { body: other } = await hook.call('POST', '/workspaces', { kind: 'standalone' });
    for (const match of [
      { surface: 'webhook', connectionId: cloud.connection.id },
      { surface: 'webhook', connectionId: hook.connectionId, workspaceId: other.workspace.id },
    ]) {
      const answer = await hook.call('PUT', '/faults', only(match));
      expect(answer).toMatchObject({ status: 400, body: { field: 'rules.0.match.connectionId' } });
    }
  });

  it('do not include paths that end with an asterisk, contain an id or belong to another part of the surface', async () => {
    const matches = [
      { surface: 'api', path: '/connections/*' },
      { surface: 'api', path: '/connections/c1/restart' },
      { surface: 'api', path: '/con*' },
      { surface: 'api', path: '/*' },
      { surface: 'oauth', path: '/oauth/*' },
      { surface: 'oauth', path: '/api/mcp' },
      { surface: 'oauth', path: '/.well-known/*' },
    ];
    const taken: object[] = [];
    for (const match of matches)
      if ((await hook.call('PUT', '/faults', only(match))).status === 200) taken.push(match);
    expect(taken).toEqual(matches);
  });
});
