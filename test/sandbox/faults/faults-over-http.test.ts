import { describe, expect, it } from 'vitest';
import { useHookedSandbox } from '../hooked-sandbox.ts';

const hook = useHookedSandbox();

const put = (rules: object[], seed?: number) =>
  hook.call('PUT', '/faults', { rules, ...(seed === undefined ? {} : { seed }) });
const hits = async (): Promise<number[]> =>
  (await hook.call('GET', '/faults')).body.rules.map((rule: { hits: number }) => rule.hits);
const settle = () => hook.service.platform.delivery.settle();
const attempts = async () => (await hook.call('GET', '/deliveries?limit=1')).body.entries[0].attempts;
const send = (to: string) =>
  hook.api('POST', '/messages', { connectionId: hook.connectionId, to, text: 'hello' });

describe('faults, set over HTTP', () => {
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
    await put([{ id: 'fault', match: { surface: 'webhook' }, action: { type: 'drop' }, first: 1 }]);
    await hook.write();
    await hook.clock.pass(500);
    await settle();
    expect(await attempts()).toMatchObject([{ error: 'dropped', faults: ['fault'] }, { status: 200 }]);
    expect(hook.receiver.requests).toHaveLength(1);
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
});

describe('invalid rules', () => {
  const rule = { id: 'a', match: { surface: 'webhook' }, action: { type: 'drop' } };
  const one = (fields: object) => ({ rules: [{ ...rule, ...fields }] });
  const of = (match: { surface: string; [field: string]: string }, action?: object) => ({
    match,
    action: action ?? { type: match.surface === 'webhook' ? 'drop' : 'reset' },
  });
  const only = (match: Parameters<typeof of>[0]) => one(of(match));

  /** What differs from a rule that is accepted, and the refused field of the rule. */
  const REFUSED: readonly (readonly [what: string, fields: object, field: string])[] = [
    ['a field of a rule', { chance: 1 }, 'chance'],
    ['a field of the match', of({ surface: 'webhook', path: '/' }), 'match.path'],
    ['a field of the action', { action: { type: 'drop', ms: 1 } }, 'action.ms'],
    ['the surface', { match: { surface: 'wire' } }, 'match.surface'],
    ['an event', of({ surface: 'webhook', event: 'x' }), 'match.event'],
    ['the type of an action', { action: { type: 'explode' } }, 'action.type'],
    ['an action of another surface', { action: { type: 'lost_answer' } }, 'action.type'],
    ['what an action needs', { action: { type: 'delay' } }, 'action.ms'],
    ['a star in the middle', of({ surface: 'api', path: '/a*b' }), 'match.path'],
    ['`first` beside `probability`', { first: 1, probability: 1 }, 'probability'],
    ['a probability past 1', { probability: 1.1 }, 'probability'],
    // Records of attempts have it, and Postgres stores neither.
    ['an id with a NUL', { id: 'a\0' }, 'id'],
    ['an id with half a character', { id: 'a\ud83d' }, 'id'],
    ['a probability of 0', { probability: 0 }, 'probability'],
    ['a path that no endpoint has', of({ surface: 'api', path: '/message' }), 'match.path'],
    ['a beginning that no path has', of({ surface: 'api', path: '/webhooks*' }), 'match.path'],
    ['a path below nothing', of({ surface: 'api', path: '/account/a' }), 'match.path'],
    ['a path of another surface', of({ surface: 'oauth', path: '/messages' }), 'match.path'],
    [
      'a method that the path does not take',
      of({ surface: 'api', method: 'GET', path: '/webhook/rotate' }),
      'match.method',
    ],
    [
      'not_persisted of what is no send',
      of({ surface: 'api', path: '/messages/read' }, { type: 'not_persisted' }),
      'action.type',
    ],
    ['a status that is no failure', of({ surface: 'api' }, { type: 'status', code: 200 }), 'action.code'],
    ['a status that leads elsewhere', of({ surface: 'oauth' }, { type: 'status', code: 302 }), 'action.code'],
    [
      'a status for which not every address has a code',
      of({ surface: 'api', path: '/messages' }, { type: 'status', code: 409 }),
      'action.error',
    ],
    ['an unknown connection', of({ surface: 'webhook', connectionId: 'cnobody' }), 'match.connectionId'],
    ['an unknown workspace', of({ surface: 'webhook', workspaceId: 'cnobody' }), 'match.workspaceId'],
    ['calls of an unknown workspace', of({ surface: 'api', workspaceId: 'cnobody' }), 'match.workspaceId'],
  ];

  it('are refused with the name of the field, and replace nothing', async () => {
    await put([{ ...rule, id: 'kept' }]);
    const refused: string[] = [];
    for (const body of [
      { rules: [], sed: 1 },
      { rules: [rule, rule] },
      ...REFUSED.map((row) => one(row[1])),
    ]) {
      const { status, body: refusal } = await hook.call('PUT', '/faults', body);
      expect([status, refusal.error], JSON.stringify(body)).toEqual([400, 'invalid_request']);
      const { rules } = (await hook.call('GET', '/faults')).body;
      expect(rules).toMatchObject([{ id: 'kept' }]);
      refused.push(refusal.field);
    }
    expect(refused).toEqual(['sed', 'rules', ...REFUSED.map(([, , field]) => `rules.0.${field}`)]);
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
