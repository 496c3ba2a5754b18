import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Account } from '../../src/contract/service/account.ts';
import type { ConnectionDetailAnswer, ConnectionListAnswer } from '../../src/contract/service/connections.ts';
import type { ListMessagesAnswer } from '../../src/contract/service/messages.ts';
import { proves } from '../support/proves.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startTestSandbox, type TestSandbox } from './fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const OWNER = '447700900150';
const PERSON = '447700900201';

let bed: TestSandbox;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  bed = await startTestSandbox();
});
afterAll(async () => {
  await bed.close();
  await receiver.close();
});

/** The hand that moves people, phones and time. */
async function hand(method: string, path: string, body?: object) {
  const answer = await bed.call(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}

/** One client of the service, and what it sees. */
function clientOf(key: string) {
  const call = (method: string, path: string, body?: object) =>
    bed.service.call(method, path, { key, ...(body === undefined ? {} : { body }) });
  const read = async <Answer>(path: string): Promise<Answer> => (await call('GET', path)).body as Answer;
  return {
    call,
    account: () => read<Account>('/account'),
    list: async () => (await read<ConnectionListAnswer>('/connections')).connections,
    detail: async (id: string) => (await read<ConnectionDetailAnswer>(`/connections/${id}`)).connection,
    texts: async () => (await read<ListMessagesAnswer>('/messages')).messages.map(({ text }) => text),
    /** Status and error of sends of some short texts, all at once. */
    async send(connectionId: string, count: number): Promise<[number, string | undefined][]> {
      const message = { connectionId, to: PERSON, text: 'hello' };
      const answers = await Promise.all(
        Array.from({ length: count }, () => call('POST', '/messages', message)),
      );
      return answers.map(({ status, body }) => [status, (body as { error?: string }).error]);
    },
  };
}

/** The events that reached the receiver, but for those of own sends. */
async function heard(): Promise<string[]> {
  await bed.service.platform.settle();
  return receiver.requests
    .map(({ body }): { event: string } => JSON.parse(body.toString()))
    .map(({ event }) => event)
    .filter((event) => event !== 'message.status');
}

test('a number is paired, warms up, fails and recovers, its trial expires and is renewed, and its slot becomes free', {
  timeout: 120_000,
}, async () => {
  proves('state.created.connecting', 'state.created.claims-nothing', 'state.paired.scan');
  proves('state.paired.silent', 'state.outage.reported-once', 'state.recovered.reported-once');
  proves('state.delete.slot');
  proves('service.standalone.trial', 'service.standalone.paid-after', 'service.gate.visible');
  proves('service.gate.unsendable', 'service.slot.attaches', 'service.slot.returns', 'service.qr.warmup');
  proves('delivery.unlicensed');
  proves('limits.trial', 'limits.warmup');
  proves('choice.unpaired', 'choice.slot.inherited', 'choice.unlicensed.hidden', 'choice.unlicensed.refused');
  proves('choice.unlicensed.allowed', 'choice.license.ends');
  const { workspace } = await hand('POST', '/workspaces', { kind: 'standalone', slots: 1 });
  const { key } = await hand('POST', `/workspaces/${workspace.id}/api-keys`);
  await hand('PUT', '/hosts/hooks.example.com', { target: receiver.origin });
  const client = clientOf(key);
  await client.call('PUT', '/webhook', { url: 'https://hooks.example.com/in' });
  const advance = (ms: number) => hand('POST', '/clock/advance', { ms });
  const until = (at: number) => hand('POST', '/clock/advance', { to: new Date(at).toISOString() });
  const writes = (connectionId: string, text: string) =>
    hand('POST', `/contacts/${PERSON}/messages`, { connectionId, text });

  // It is created and claims nothing, then a phone scans its picture.
  const created = await client.call('POST', '/connections', { label: 'Front desk' });
  const { id } = (created.body as { connection: { id: string } }).connection;
  expect(await client.list()).toEqual([]);
  expect(await client.account()).toMatchObject({
    slots: { total: 1, used: 0, available: 1, nextExpiry: null },
    connections: { total: 1, connected: 0, needsReconnect: 0 },
  });
  await advance(HOUR);
  const { qr, status } = await client.detail(id);
  expect(status).toBe('connecting');
  await hand('POST', `/connections/${id}/scan`, { qr, phoneNumber: OWNER });
  const paired = bed.service.platform.time.now();
  const trialEnd = new Date(paired + 7 * DAY).toISOString();
  expect(await client.list()).toMatchObject([
    { id, status: 'open', phoneNumber: OWNER, licenseStatus: 'trial', licenseExpires: trialEnd },
  ]);
  expect(await client.account()).toMatchObject({
    slots: { used: 1, available: 0, nextExpiry: trialEnd },
    connections: { total: 1, connected: 1 },
  });
  expect(await heard()).toEqual([]);

  // A new number may send little, and after 72 hours as much as it likes.
  const [within, beyond] = [await client.send(id, 30), await client.send(id, 1)];
  expect(within).toEqual(Array.from({ length: 30 }, () => [200, undefined]));
  expect(beyond).toEqual([[429, 'warmup_limited']]);
  await advance(HOUR);
  expect(await client.send(id, 1)).toEqual([[200, undefined]]);
  await until(paired + 3 * DAY - 1);
  const { warmup } = await hand('GET', `/connections/${id}`);
  expect(warmup).toMatchObject({ perHour: 120, endsAt: new Date(paired + 3 * DAY).toISOString() });
  await advance(1);
  expect(await hand('GET', `/connections/${id}`)).toMatchObject({ warmup: null });
  expect(await client.send(id, 1)).toEqual([[200, undefined]]);

  // The phone runs flat on the fourth day. The service finds out late, and hears what was written meanwhile.
  await hand('POST', `/connections/${id}/outage`, { cause: 'phone_off' });
  await writes(id, 'are you there?');
  expect(await client.list()).toMatchObject([{ status: 'open' }]);
  expect(await client.send(id, 1)).toEqual([[502, 'send_failed']]);
  await advance(5 * MINUTE);
  expect(await client.list()).toMatchObject([{ status: 'disconnected' }]);
  expect((await client.account()).connections).toEqual({ total: 1, connected: 0, needsReconnect: 1 });
  await hand('POST', `/connections/${id}/recover`);
  await advance(MINUTE);
  expect(await client.list()).toMatchObject([{ status: 'open' }]);
  const told = ['connection.disconnected', 'connection.connected', 'message.received'];
  expect(await heard()).toEqual(told);

  // The trial is over: hidden, refused and silent, while the phone goes on.
  await until(paired + 7 * DAY - 1);
  expect(await client.list()).toMatchObject([{ id, licenseStatus: 'trial' }]);
  await advance(1);
  expect(await client.list()).toEqual([]);
  expect(await client.texts()).toEqual([]);
  expect(await client.send(id, 1)).toEqual([[402, 'license_inactive']]);
  expect(await client.detail(id)).toMatchObject({ status: 'connected', licenseStatus: 'expired' });
  await writes(id, 'nobody hears me');
  await hand('POST', `/connections/${id}/outage`, { cause: 'session_lost' });
  await advance(DAY);
  expect((await client.account()).connections.needsReconnect).toBe(1);
  await hand('POST', `/connections/${id}/recover`);
  expect(await heard()).toEqual(told);

  // It is paid: all is back, and nothing of the silence is told after it.
  const renewal = { status: 'active', expiresAt: new Date(paired + 37 * DAY).toISOString() };
  expect(await hand('PUT', `/connections/${id}/licence`, renewal)).toEqual(renewal);
  await advance(HOUR);
  expect(await client.list()).toMatchObject([
    { id, status: 'open', licenseStatus: 'active', licenseExpires: renewal.expiresAt },
  ]);
  expect((await client.texts()).slice(0, 3)).toEqual(['nobody hears me', 'are you there?', 'hello']);
  expect(await heard()).toEqual(told);
  await writes(id, 'hello again');
  expect(await client.send(id, 1)).toEqual([[200, undefined]]);
  expect(await heard()).toEqual([...told, 'message.received']);

  // It is deleted, and the next number that pairs takes the rest of what was paid.
  await client.call('DELETE', `/connections/${id}`);
  expect(await client.account()).toMatchObject({
    slots: { total: 1, used: 0, available: 1, nextExpiry: renewal.expiresAt },
    connections: { total: 0 },
  });
  const next = await client.call('POST', '/connections');
  const heir = (next.body as { connection: { id: string; qr: string } }).connection;
  await hand('POST', `/connections/${heir.id}/scan`, { qr: heir.qr, phoneNumber: '447700900151' });
  expect(await client.list()).toMatchObject([
    { id: heir.id, licenseStatus: 'active', licenseExpires: renewal.expiresAt },
  ]);
  expect(await heard()).toEqual([...told, 'message.received']);
});
