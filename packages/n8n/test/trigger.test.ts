import { createServer } from 'node:http';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteOldChanges } from '../../../src/connector/db/delete-old-changes.ts';
import type { DeadLetterList } from '../../../src/contract/connector/changes.ts';
import type { Consumer } from '../../../src/contract/connector/consumers.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';
import { silentLogger } from '../../../test/support/platform.ts';
import { serve } from '../../../test/support/serve.ts';
import { PROFILES } from '../../certify/src/receiver/profile.ts';
import { expectConformity } from '../../certify/test/expect-conformity.ts';
import { listConnections } from '../src/connector-call.ts';
import { isSigned } from '../src/signature.ts';
import { type HostedTrigger, hostTriggers } from './trigger-host.ts';

const loop = loopOfFile();
let n8n: Awaited<ReturnType<typeof hostTriggers>>;
let connectionId: string;
let trigger: HostedTrigger;

beforeAll(async () => {
  connectionId = await loop.client.qrConnection();
});

beforeEach(async () => {
  n8n = await hostTriggers({ url: loop.connectorUrl, token: loop.connectorToken });
  trigger = n8n.host('/webhook/5a1c/changes');
  trigger.parameters = {
    filter: { types: ['message.created'], directions: ['incoming'], connectionIds: [] },
  };
});
afterEach(async () => {
  for (const { name } of await consumers()) await loop.connector('DELETE', `/v1/consumers/${name}`);
  await n8n.close();
});

const consumers = async (): Promise<readonly Consumer[]> =>
  (await loop.connector<{ consumers: readonly Consumer[] }>('GET', '/v1/consumers')).consumers;
const say = (text: string): Promise<string> => loop.client.write(connectionId, text);
const texts = ({ items }: HostedTrigger) => items.map(({ change }) => change.data.text);
const hears = (hosted: HostedTrigger, ...expected: readonly string[]): Promise<void> =>
  expect.poll(() => texts(hosted)).toEqual(expected);
const post = (headers: Record<string, string>, body: string): Promise<Response> =>
  fetch(trigger.url, { method: 'POST', headers, body });

describe('the trigger', () => {
  it('is a consumer while it is active, and starts the workflow with each change that passes its filter', async () => {
    await trigger.activate();
    const [consumer, ...others] = await consumers();
    expect(others).toEqual([]);
    expect(consumer).toMatchObject({
      name: expect.stringMatching(/^n8n-[0-9a-f]{16}$/),
      kind: 'http',
      url: trigger.url,
      filter: { types: ['message.created'], directions: ['incoming'] },
    });
    await say('Hello n8n');
    await hears(trigger, 'Hello n8n');
    const [item] = trigger.items;
    expect(item).toEqual({
      key: `${item?.key.split('-n8n-')[0]}-${consumer?.name}`,
      attempt: 1,
      change: expect.objectContaining({ type: 'message.created', connectionId }),
    });
    await trigger.deactivate();
    expect(await consumers()).toEqual([]);
  });

  it.each([
    ['a page', '<!doctype html><title>Sign in</title>'],
    ['nothing', ''],
  ])('does not become active at an address that answers everything with %s', async (_, text) => {
    const other = await serve(createServer((_request, response) => void response.end(text)));
    const elsewhere = await hostTriggers({ url: other.url, token: 'any' });
    const hosted = elsewhere.host('/webhook/5a1c/changes');
    await expect(hosted.activate()).rejects.toThrow(
      'GET /v1/changes?after=latest was answered with 200, but not with JSON. Is this the Base URL of the connector?',
    );
    expect(hosted.memory).toEqual({});
    await Promise.all([elsewhere.close(), other.close()]);
  });

  it.each([
    ['', []],
    [', though a proxy removes the date of answers', ['date']],
  ])(
    'continues where it stopped when it is activated again, or with the next change%s',
    async (_, removed) => {
      for (const header of removed) n8n.removed.add(header);
      await trigger.activate();
      await say('one');
      await hears(trigger, 'one');
      await loop.loop.settle();
      await trigger.deactivate();
      await loop.client.arrival(await say('while inactive'));
      await trigger.activate();
      await hears(trigger, 'one', 'while inactive');
      await loop.loop.settle();
      await trigger.deactivate();
      await loop.client.arrival(await say('never'));
      trigger.parameters = { ...trigger.parameters, continues: false };
      await trigger.activate();
      await say('next');
      await hears(trigger, 'one', 'while inactive', 'next');
    },
  );

  it('continues with a change that the workflow had not finished', async () => {
    n8n.removed.add('date');
    trigger.work = () => {
      throw new Error('the CRM is away');
    };
    await trigger.activate();
    await loop.client.arrival(await say('unfinished'));
    await trigger.deactivate();
    trigger.work = () => undefined;
    await trigger.activate();
    await expect.poll(() => texts(trigger)).toContain('unfinished');
  });

  it('continues with the oldest change that failed in all attempts', async () => {
    trigger.work = () => {
      throw new Error('the workflow is broken');
    };
    trigger.parameters = { filter: { types: ['message.created'] }, options: { attempts: 1 } };
    await trigger.activate();
    await say('failed');
    await say('failed too');
    await expect.poll(consumers).toMatchObject([{ deadLetters: 2, lag: { changes: 0 } }]);
    const { deadLetters } = await loop.connector<DeadLetterList>('GET', '/v1/dead-letters');
    await trigger.deactivate();
    expect(trigger.memory['from']).toBe(deadLetters.at(-1)?.change.at);
    trigger.work = () => undefined;
    await trigger.activate();
    await expect.poll(() => texts(trigger)).toContain('failed');
  });

  it('continues with the oldest change that is kept if those it continues with were deleted', async () => {
    await trigger.activate();
    await loop.loop.settle();
    await trigger.deactivate();
    await loop.client.arrival(await say('deleted'));
    await loop.client.arrival(await say('kept'));
    const options = { url: loop.databaseUrl, name: 'test', clock: systemClock, logger: silentLogger };
    const database = openDatabase(options);
    const stopping = new AbortController().signal;
    await deleteOldChanges(database, { before: systemClock.now() + 1, needed: async () => null, stopping });
    await database.close();
    await trigger.activate();
    await hears(trigger, 'kept');
  });

  it('continues with what has changed since if its number is one of another feed', async () => {
    await trigger.activate();
    await loop.loop.settle();
    await trigger.deactivate();
    await loop.client.arrival(await say('in another feed'));
    const { lastSeq } = await loop.connector<{ lastSeq: number }>('GET', '/v1/changes?after=latest');
    // As if the data of the connector had been replaced, and as many changes had come since.
    trigger.memory = { ...trigger.memory, from: lastSeq + 1, feedId: '0123456789ab' };
    await trigger.activate();
    await expect.poll(() => texts(trigger)).toContain('in another feed');
  });

  it('begins with the next change if a number of which it does not know the feed is beyond the feed', async () => {
    trigger.memory = { from: 1_000_000 };
    await trigger.activate();
    await say('next');
    await hears(trigger, 'next');
  });

  it('takes nothing from the published workflow when it listens for a test', async () => {
    const test = n8n.host('/webhook-test/5a1c/changes');
    test.parameters = trigger.parameters;
    await trigger.activate();
    await test.activate();
    const names = (await consumers()).map(({ name }) => name);
    expect(new Set(names).size).toBe(2);
    await say('to both');
    await hears(test, 'to both');
    await hears(trigger, 'to both');
    await test.deactivate();
    expect(await consumers()).toMatchObject([{ url: trigger.url }]);
    await say('to one');
    await hears(trigger, 'to both', 'to one');
    expect(texts(test)).toEqual(['to both']);
  });

  it('keeps its consumer and its secret when n8n starts again, and creates one that was deleted elsewhere', async () => {
    await trigger.activate();
    await loop.loop.settle();
    await trigger.deactivate();
    await trigger.activate();
    await say('before');
    await hears(trigger, 'before');
    const [first] = await consumers();
    const before = structuredClone(trigger.memory);
    await trigger.activate();
    expect(trigger.memory).toEqual(before);
    await loop.connector('DELETE', `/v1/consumers/${first?.name}`);
    await trigger.activate();
    await say('again');
    // Not once more from where it once continued.
    await hears(trigger, 'before', 'again');
  });

  it('takes over its consumer with a new secret if n8n has lost the old one', async () => {
    await trigger.activate();
    trigger.memory = {};
    trigger.parameters = { filter: { types: ['message.created'] }, options: { batch: 10 } };
    await trigger.activate();
    expect(await consumers()).toMatchObject([{ batch: 10, filter: { types: ['message.created'] } }]);
    await say('new secret');
    await hears(trigger, 'new secret');
  });

  it('has the connector wait while n8n has not stored the secret', async () => {
    await trigger.activate();
    const { memory } = trigger;
    trigger.memory = {};
    const answer = await post({}, '{}');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    trigger.memory = memory;
  });

  it('gives each change of a list an item of its own, and the same keys again if the workflow fails', async () => {
    const received: string[][] = [];
    trigger.work = (items) => {
      received.push(items.map(({ key }) => key));
      if (received.length === 1) throw new Error('the CRM is away');
    };
    trigger.parameters = { filter: { types: ['message.created'] }, options: { batch: 10 } };
    await trigger.activate();
    await say('first');
    await expect.poll(() => received.length).toBeGreaterThan(0);
    await say('second');
    await hears(trigger, 'first', 'second');
    expect(trigger.items[0]).toMatchObject({ key: received[0]?.[0], attempt: 2 });
  });

  it('offers connections by label and number, or by id', async () => {
    const connections = [
      { id: 'c1', label: 'Desk', phoneNumber: '447700900101' },
      { id: 'c2', label: null, phoneNumber: null },
    ];
    const answer = { statusCode: 200, headers: {}, body: { connections } };
    const context = {
      getCredentials: async () => ({ url: '' }),
      helpers: { httpRequestWithAuthentication: async () => answer },
    };
    expect(await listConnections.call(context as never)).toEqual([
      { name: 'Desk, 447700900101', value: 'c1' },
      { name: 'c2', value: 'c2' },
    ]);
  });

  it('fails with what the connector says', async () => {
    trigger.parameters = { options: { batch: 1_000 } };
    await expect(trigger.activate()).rejects.toThrow(
      /^The connector answered 400: invalid_request\. .*batch/,
    );
  });

  it.each([undefined, 100])('passes the checks of an HTTP consumer, with a batch of %s', async (batch) => {
    await trigger.activate();
    const secret = String(trigger.memory['secret']);
    const inputs = { url: trigger.url, secret, profile: PROFILES['standard-webhooks'], batch };
    expect(await expectConformity(inputs, ['W'])).toBe(batch === undefined ? 13 : 14);
  });
});

it.each([
  // The example of the Standard Webhooks specification.
  ['v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=', 0, true],
  ['v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=', 0, false],
  ['v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=', 301, false],
  ['v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=', -301, false],
])('the signature %s that is %i s old: %s', (signature, seconds, accepted) => {
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': signature,
  };
  const now = (1_614_265_330 + seconds) * 1_000;
  const body = Buffer.from('{"test": 2432232314}');
  expect(isSigned('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', { headers, body, now })).toBe(accepted);
});
