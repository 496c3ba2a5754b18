import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { readScenario } from '../../src/scenario/scenario.ts';
import { type Change, startTestLoop, type TestLoop } from '../../src/testing/index.ts';
import { makeFolder } from '../support/make-folder.ts';

const CONTACT = '447700900201';

describe('a test loop', () => {
  const seen: Change[] = [];
  /** What the handler does before it accepts a change. */
  let handle: (change: Change) => Promise<unknown> = () => Promise.resolve();
  let loop: TestLoop;

  beforeAll(async () => {
    const onChange = async (change: Change): Promise<void> => {
      await handle(change);
      seen.push(change);
    };
    loop = await startTestLoop({ databaseUrl: inject('databaseUrl'), handlers: { onChange } });
  });
  afterAll(() => loop.close());
  beforeEach(async () => {
    handle = () => Promise.resolve();
    await loop.reset();
    seen.length = 0;
  });

  async function write(text: string): Promise<string> {
    const { connections } = await loop.service.listConnections();
    const connectionId = connections.find(({ provider }) => provider === 'qr')?.id ?? '';
    const { messageId } = await loop.sandbox.contactWrites({
      params: { phone: CONTACT },
      body: { connectionId, text },
    });
    return messageId;
  }

  it('delivers a message from a phone to the handler, and shows it in all three APIs', async () => {
    const messageId = await write('Hello');
    await loop.settle();
    expect(seen).toMatchObject([{ type: 'message.created', messageId, data: { text: 'Hello' } }]);
    expect((await loop.connector.getMessage({ params: { id: messageId } })).peer).toBe(CONTACT);
    expect((await loop.service.listMessages({ query: { limit: 1 } })).messages).toMatchObject([
      { id: messageId },
    ]);
    expect(await loop.waitFor({ list: 'deliveries', q: `message:${messageId}` })).toMatchObject([
      { outcome: 'delivered' },
    ]);
  });

  it('waits for a condition of the test, and reports what the condition threw last', async () => {
    const messageId = await write('Soon');
    const found = await loop.waitFor(() => seen.find((change) => 'messageId' in change));
    expect(found).toMatchObject({ messageId });
    await expect(
      loop.waitFor(
        () => {
          throw new Error('not yet');
        },
        { timeoutMs: 0 },
      ),
    ).rejects.toThrow('The condition did not hold within 0 ms: not yet');
    await expect(loop.waitFor({ list: 'calls', q: 'path:/nowhere', timeoutMs: 0 })).rejects.toThrow(
      'calls path:/nowhere: 0 of 1 found.',
    );
  });

  it('names the error of the handler when a wait fails, until it accepts the change', async () => {
    handle = () => Promise.reject(new TypeError('no such customer'));
    const messageId = await write('Hello');
    await loop.settle();
    const waits = [
      () => loop.waitFor(() => seen.length > 0, { timeoutMs: 0 }),
      () => loop.waitFor({ list: 'calls', q: 'path:/nowhere', timeoutMs: 0 }),
    ];
    for (const wait of waits)
      await expect(wait()).rejects.toThrow(/\. The handler failed: TypeError: no such customer$/);
    handle = () => Promise.resolve();
    await loop.waitFor(() => seen.some((change) => 'messageId' in change && change.messageId === messageId));
    await expect(waits[1]?.()).rejects.not.toThrow('The handler failed');
  });

  it('lets work in progress finish before a wait fails', async () => {
    const id = await write('Hello');
    await loop.settle();
    const { connectionId } = await loop.connector.getMessage({ params: { id } });
    const body = { connectionId, to: CONTACT, text: 'Good morning', reference: 'slow' };
    await loop.connector.queueMessage({ body });
    expect(await loop.waitFor({ list: 'messages', q: 'direction:outgoing', timeoutMs: 1 })).toMatchObject([
      { direction: 'outgoing' },
    ]);

    const gate = Promise.withResolvers<void>();
    handle = async () => {
      await gate.promise;
      await loop.service.getAccount();
    };
    let messageId: string | undefined;
    let evaluations = 0;
    const isHandled = async (): Promise<boolean> => {
      evaluations += 1;
      // Takes longer than the wait may.
      messageId ??= await write('Slow');
      gate.resolve();
      return seen.some((change) => 'messageId' in change && change.messageId === messageId);
    };
    await loop.waitFor(isHandled, { timeoutMs: 1 });
    expect(evaluations).toBe(2);
  });

  it('settles only when what a handler has sent was delivered and handled', async () => {
    const called = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    handle = async (change) => {
      if (change.type !== 'message.created' || change.data.direction !== 'incoming') return;
      called.resolve();
      await gate.promise;
      const body = { connectionId: change.connectionId, to: CONTACT, text: 'Thanks', reference: 'thanks' };
      await loop.connector.queueMessage({ body });
    };
    await write('Hello');
    await called.promise;
    await loop.waitFor({ list: 'deliveries', q: 'status:delivered' });
    const action = { type: 'delay', ms: 200 } as const;
    const rules = [
      { id: 'slow-sends', match: { surface: 'api', method: 'POST', path: '/messages' }, action } as const,
      { id: 'slow-deliveries', match: { surface: 'webhook' }, action } as const,
    ];
    await loop.sandbox.putFaults({ body: { rules } });
    const settled = loop.settle();
    // Until then, the service was idle and the handler in progress.
    await loop.connector.listChanges();
    gate.resolve();
    await settled;
    const { entries } = await loop.sandbox.listDeliveries();
    // The newest come first; receipts may follow as virtual time passes.
    const outcomes = entries.map(({ outcome }) => outcome).slice(-2);
    expect(outcomes).toEqual(['delivered', 'delivered']);
    expect(seen.filter(({ type }) => type === 'message.created')).toMatchObject([
      { data: { text: 'Hello' } },
      { data: { text: 'Thanks' } },
    ]);
  });

  it('records external causes as a scenario', async () => {
    const messageId = await write('Hello');
    await loop.settle();
    const { connectionId } = await loop.connector.getMessage({ params: { id: messageId } });
    const body = { connectionId, to: CONTACT, text: 'Good morning', reference: 'recorded' };
    await loop.connector.queueMessage({ body });
    await loop.settle();
    const file = join(makeFolder(), 'failed.jsonl');
    await loop.record(file);
    const { causes, observations } = readScenario(readFileSync(file, 'utf8'));
    expect(causes.map(({ method, surface }) => `${method} ${surface}`)).toEqual([
      'POST sandbox',
      'POST connector',
    ]);
    expect(observations.length).toBeGreaterThan(0);
  });

  it('moves virtual time', async () => {
    const { now: before } = await loop.sandbox.getClock();
    const { now } = await loop.advance('2h');
    expect(Date.parse(now) - Date.parse(before)).toBeGreaterThanOrEqual(7_200_000);
    await expect(loop.advance('soon')).rejects.toThrow('"soon" is not a time: write 500ms');
  });

  it('throws the refusal of a call, with its status, code and body', async () => {
    const refused = loop.service.sendMessage({ body: { connectionId: 'x', to: '1', text: 'a' } });
    await expect(refused).rejects.toMatchObject({
      name: 'CallRefused',
      status: expect.any(Number),
      code: expect.stringMatching(/^\w+$/),
      message: expect.stringMatching(/^POST \/messages answered 4\d\d \w+/),
    });
  });

  it('names the field that the service refuses', async () => {
    const [entry] = (await loop.sandbox.listConnections({ query: { phoneNumber: '447700900101' } })).entries;
    const refused = loop.service.sendMessage({ body: { connectionId: entry?.id ?? '', to: '1', text: 'a' } });
    await expect(refused).rejects.toThrow(/^POST \/messages answered 400 invalid_request to /);
  });

  it('refuses calls that fake timers would make hang', async () => {
    const calls = [
      () => loop.settle(),
      () => loop.waitFor(() => true),
      () => loop.service.getAccount(),
      () => loop.close(),
      () => startTestLoop({ databaseUrl: inject('databaseUrl') }),
    ];
    for (const call of calls) {
      vi.useFakeTimers();
      await expect(call()).rejects.toThrow('Fake timers stop the test loop').finally(vi.useRealTimers);
    }
    mock.timers.enable();
    await expect(loop.settle())
      .rejects.toThrow('Fake timers')
      .finally(() => mock.timers.reset());
    vi.useFakeTimers({ toFake: ['Date'], now: 0 });
    await loop.settle();
    vi.useFakeTimers({ shouldAdvanceTime: true });
    await loop.settle().finally(vi.useRealTimers);
  });

  it('resets with other ids', async () => {
    const { workspaceId } = loop.info();
    await write('before');
    await loop.reset();
    expect(loop.info().workspaceId).not.toBe(workspaceId);
    expect((await loop.connector.listConnections()).connections).toHaveLength(4);
    expect((await loop.connector.listMessages()).messages).toEqual([]);
  });
});

it('a test loop without a connector is the service and its sandbox', async () => {
  await using loop = await startTestLoop({ databaseUrl: inject('databaseUrl'), connector: false });
  expect(loop.info().connectorUrl).toBeNull();
  expect((await loop.service.getAccount()).connections.total).toBe(4);
  await expect(loop.connector.listMessages()).rejects.toThrow('This loop was started without a connector.');
});

it('a loop that was closed says so', async () => {
  const loop = await startTestLoop({ databaseUrl: inject('databaseUrl'), connector: false });
  await loop.close();
  await expect(loop.service.getAccount()).rejects.toThrow('This loop was closed.');
  await expect(loop.settle()).rejects.toThrow('This loop was closed.');
  await loop.close();
});

it('names the setting of a server that cannot be used', async () => {
  for (const [databaseUrl, why] of [
    ['mysql://root@127.0.0.1/crm', 'does not have the format postgres://'],
    [`${inject('databaseUrl')}?schema=public`, 'unrecognized configuration parameter "schema"'],
  ] as const) {
    const refused = await startTestLoop({ databaseUrl }).catch((error: Error) => error.message);
    expect(refused).toMatch(/^A test loop creates its database on the server of DATABASE_URL, or /);
    expect(refused).toContain(why);
  }
});
