import { describe, expect, it } from 'vitest';
import { useHookedSandbox } from './hooked-sandbox.ts';

const hook = useHookedSandbox();

const messagesOf = async (path: string): Promise<string[]> => {
  const { status, body } = await hook.call('GET', path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.entries.map(({ messageId }: { messageId: string }) => messageId);
};
const query = (q: string): string => `?q=${encodeURIComponent(q)}`;
/** The messages of the deliveries that match. */
const found = (q: string) => messagesOf(`/deliveries${query(q)}`);
const write = async (text: string): Promise<string> => (await hook.write(text)).body.messageId;
const settle = () => hook.service.platform.settle();

describe('deliveries', () => {
  it('are filtered by message, outcome and type, and searched in their bodies', async () => {
    const [one, two] = [await write('the blue bicycle'), await write('a 100% red one')];
    await settle();
    expect(await found(`message:${one}`)).toEqual([one]);
    expect(await found(`!message:${one}`)).toEqual([two]);
    expect(await found('BICYCLE')).toEqual([one]);
    expect(await found('100%')).toEqual([two]);
    expect(await found('1%')).toEqual([]);
    expect(await found('status:delivered type:message.* !bicycle')).toEqual([two]);
    expect(await found('url:https://crm.*')).toEqual([two, one]);
    expect(await found(`webhook:${hook.sandbox.seed.workspaceId}`)).toEqual([two, one]);
    expect(await found('status:dropped')).toEqual([]);
    expect(await found('reason:no_webhook')).toEqual([]);
  });

  it('are filtered in the same way while they are pending', async () => {
    hook.receiver.script({ status: 500 });
    const one = await write('the blue bicycle');
    await hook.clock.timerSet(500);
    for (const q of [
      'status:pending',
      'bicycle',
      `message:${one}`,
      '!status:delivered',
      'type:message.received',
    ]) {
      expect(await found(q), q).toEqual([one]);
    }
    for (const q of ['status:delivered', 'car', '!status:pending', `!message:${one}`, 'reason:*']) {
      expect(await found(q), q).toEqual([]);
    }
    await hook.clock.advance(1_500);
  });

  it('that are copies, of one delivery or of any, are found', async () => {
    await write('hello');
    await settle();
    const idsOf = async (q: string): Promise<string[]> =>
      (await hook.call('GET', `/deliveries${query(q)}`)).body.entries.map(({ id }: { id: string }) => id);
    const [original = ''] = await idsOf('');
    const { body: copy } = await hook.call('POST', `/deliveries/${original}/copies`);
    await settle();
    hook.receiver.script({ status: 500 });
    const { body: pending } = await hook.call('POST', `/deliveries/${copy.id}/copies`);
    await hook.clock.timerSet(500);
    expect(await idsOf(`copy:${original}`)).toEqual([copy.id]);
    expect(await idsOf(`copy:${copy.id}`)).toEqual([pending.id]);
    expect(await idsOf('copy:*')).toEqual([pending.id, copy.id]);
    expect(await idsOf('!copy:*')).toEqual([original]);
    expect(await idsOf(`!copy:${original}`)).toEqual([pending.id, original]);
    await hook.clock.advance(1_500);
  });

  it('that a fault rule has affected in any attempt are found by the rule', async () => {
    const untouched = await write('untouched');
    await settle();
    const match = { surface: 'webhook' };
    await hook.call('PUT', '/faults', {
      rules: [
        { id: 'lost "it"', match, action: { type: 'drop' }, first: 1 },
        { id: 'twice', match, action: { type: 'duplicate' }, first: 2 },
      ],
    });
    const finished = await write('finished');
    await hook.clock.pass(500);
    await settle();
    hook.receiver.script({ status: 500 });
    await hook.call('POST', '/faults', { id: 'late', match, action: { type: 'delay', ms: 0 } });
    const pending = await write('pending');
    await hook.clock.timerSet(500);
    expect(await found('fault:twice')).toEqual([finished]);
    expect(await found('fault:lost*')).toEqual([finished]);
    expect(await found('fault:late')).toEqual([pending]);
    expect(await found('fault:la* fault:twice')).toEqual([pending, finished]);
    expect(await found('!fault:twice')).toEqual([pending, untouched]);
    expect(await found('!fault:*')).toEqual([untouched]);
    await hook.clock.advance(1_500);
  });

  it('must match both the filter and the other parameters', async () => {
    const one = await write('hello');
    await settle();
    expect(await messagesOf(`/deliveries${query('status:delivered')}&event=message.received`)).toEqual([one]);
    expect(await messagesOf(`/deliveries${query('status:delivered')}&outcome=dropped`)).toEqual([]);
    const of = (id: string) => messagesOf(`/deliveries${query('status:delivered')}&connectionId=${id}`);
    expect([await of(hook.connectionId), await of('cother')]).toEqual([[one], []]);
  });

  it('are paged among those that match', async () => {
    const wanted: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      wanted.unshift(await write('wanted'));
      await write('other');
    }
    await settle();
    const first = await hook.call('GET', `/deliveries${query('"wanted"')}&limit=3`);
    const second = await messagesOf(
      `/deliveries${query('"wanted"')}&limit=3&cursor=${first.body.nextCursor}`,
    );
    expect(first.body.entries.map(({ messageId }: { messageId: string }) => messageId)).toEqual(
      wanted.slice(0, 3),
    );
    expect(second).toEqual(wanted.slice(3));
  });

  it('are counted by outcome, all of them or those that match', async () => {
    await write('the blue bicycle');
    await settle();
    hook.receiver.script({ status: 500 }, { status: 500 }, { status: 500 });
    await write('a car');
    await hook.clock.pass(500);
    await hook.clock.pass(1_000);
    await settle();
    hook.receiver.script({ status: 500 });
    await write('another bicycle');
    await hook.clock.timerSet(500);
    const [newest] = (await hook.call('GET', '/deliveries?limit=1')).body.entries;
    await hook.call('POST', `/deliveries/${newest.id}/hold`);
    const counts = async (q: string) => (await hook.call('GET', `/deliveries/counts${query(q)}`)).body;
    expect(await counts('')).toEqual({ pending: 1, held: 1, delivered: 1, dropped: 1 });
    expect(await counts('bicycle')).toEqual({ pending: 1, held: 1, delivered: 1, dropped: 0 });
    expect(await counts('status:dropped')).toEqual({ pending: 0, held: 0, delivered: 0, dropped: 1 });
    expect(await hook.call('GET', `/deliveries/counts${query('colour:red')}`)).toMatchObject({ status: 400 });
    await hook.call('POST', `/deliveries/${newest.id}/release`);
    await hook.clock.advance(1_500);
  });

  it('are read one at a time', async () => {
    await write('hello');
    await settle();
    const [listed] = (await hook.call('GET', '/deliveries')).body.entries;
    expect(await hook.call('GET', `/deliveries/${listed.id}`)).toMatchObject({ status: 200, body: listed });
    for (const id of ['999999', 'x', '-1']) {
      expect(await hook.call('GET', `/deliveries/${id}`)).toMatchObject({
        status: 404,
        body: { error: 'not_found', message: 'No delivery has this id.' },
      });
    }
  });

  it('are refused with an invalid filter, with its token and the keys that exist', async () => {
    expect(await hook.call('GET', `/deliveries${query('status:delivered colour:red')}`)).toMatchObject({
      status: 400,
      body: {
        error: 'invalid_request',
        field: 'q',
        message:
          "'q': `colour:red` has an unknown key; the keys are status, type, workspace, connection, message, webhook, reason, url, copy, fault. Put a text that contains a colon in quotation marks.",
      },
    });
    expect((await hook.call('GET', `/deliveries${query('status:lost')}`)).body.message).toBe(
      "'q': `status:lost` has an unknown value; the values of status are pending, delivered, dropped.",
    );
  });
});

describe('calls', () => {
  const paths = async (q: string): Promise<string[]> =>
    (await hook.call('GET', `/calls${query(q)}`)).body.entries.map(
      ({ method, path }: { method: string; path: string }) => `${method} ${path}`,
    );

  it('that sent a message or marked it as read are found by its id', async () => {
    await hook.call('PUT', '/timing', { sendScale: 0 });
    const received = await write('hello');
    const body = { connectionId: hook.connectionId, to: '447700900201', text: 'hi' };
    const { body: sent } = await hook.api('POST', '/messages', body);
    const { messageId } = sent as { messageId: string };
    await hook.api('POST', '/messages/read', { connectionId: hook.connectionId, messageId: received });
    await hook.api('GET', '/messages');
    expect(await paths(`message:${messageId}`)).toEqual(['POST /messages']);
    expect(await paths(`message:${received}`)).toEqual(['POST /messages/read']);
    expect(await paths(`connection:${hook.connectionId}`)).toEqual(['POST /messages/read', 'POST /messages']);
    const [marked] = (await hook.call('GET', `/calls${query(`message:${received}`)}`)).body.entries;
    expect(marked).toMatchObject({ connectionId: hook.connectionId, messageIds: [received] });
  });

  it('that marked a chat by its phone number are found by each message that became read', async () => {
    const [one, two] = [await write('one'), await write('two')];
    await hook.api('POST', '/messages/read', { connectionId: hook.connectionId, phone: '491700000009' });
    expect(await paths(`message:${one}`)).toEqual(['POST /messages/read']);
    expect(await paths(`message:${two}`)).toEqual(['POST /messages/read']);
  });

  it('that failed have no message', async () => {
    const body = { connectionId: hook.connectionId, to: '447700900205', text: 'nobody' };
    await hook.api('POST', '/messages', body);
    const [call] = (await hook.call('GET', `/calls${query('code:recipient_not_on_whatsapp')}`)).body.entries;
    expect(call).toMatchObject({ status: 422, connectionId: hook.connectionId });
    expect(call).not.toHaveProperty('messageIds');
  });

  it('are filtered by status, method, path, code and credential, and searched in the reasons', async () => {
    await hook.api('GET', '/account');
    await hook.api('GET', '/nothing');
    await hook.service.call('GET', '/connections');
    expect(await paths('status:4*')).toEqual(['GET /connections', 'GET /nothing']);
    expect(await paths('status:404')).toEqual(['GET /nothing']);
    expect(await paths('status:none')).toEqual([]);
    expect(await paths('!status:2*  !code:not_found')).toEqual(['GET /connections']);
    expect(await paths('path:/acc* method:GET')).toEqual(['GET /account']);
    expect(await paths('!credential:*')).toEqual(['GET /connections', 'GET /nothing']);
    expect(await paths('"no credential was sent"')).toEqual(['GET /connections']);
  });

  it('are read one at a time', async () => {
    await hook.api('GET', '/account');
    const [listed] = (await hook.call('GET', '/calls')).body.entries;
    expect((await hook.call('GET', `/calls/${listed.id}`)).body).toEqual(listed);
    for (const id of ['999999', 'x']) {
      expect(await hook.call('GET', `/calls/${id}`)).toMatchObject({
        status: 404,
        body: {
          error: 'not_found',
          message: 'No call has this id. Only the latest calls are kept, at most 5,000.',
        },
      });
    }
  });

  it('are refused with a status that is none', async () => {
    expect((await hook.call('GET', `/calls${query('status:ok')}`)).body).toMatchObject({
      field: 'q',
      message: "'q': `status:ok` must be an HTTP status, the beginning of one such as 4*, or none.",
    });
  });
});
