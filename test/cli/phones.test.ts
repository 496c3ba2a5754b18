import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { CreatedConnectorConnection } from '../../src/contract/connector/connections.ts';
import { type PairingEvent, pairingEvent } from '../../src/contract/connector/pairing.ts';
import { type EventReader, readEvents } from '../support/event-reader.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { type Caller, createCaller } from '../support/read-lists.ts';
import { readQr } from '../support/read-qr.ts';

const PERSON = '447700900201';

const running = loopOfFile();
let connector: Caller;
let sandbox: Caller;
let url: string;
let token: string;

beforeAll(async () => {
  const info = running.loop.info();
  url = info.connectorUrl ?? '';
  token = info.connectorToken ?? '';
  connector = createCaller(url, token);
  sandbox = createCaller(`${info.sandboxUrl}/sandbox/v1`);
});
afterEach(() => sandbox('DELETE', '/faults'));

const create = async (label: string): Promise<string> =>
  (await connector<CreatedConnectorConnection>('POST', '/v1/connections', { label })).connection.id;
const mirrored = (id: string) => connector<Record<string, unknown>>('GET', `/v1/connections/${id}`);
const look = (id: string): Promise<EventReader<PairingEvent>> =>
  readEvents(`${url}/v1/connections/${id}/pairing`, (data) => pairingEvent.parse(data), {
    authorization: `Bearer ${token}`,
  });
const picture = async (viewer: EventReader<PairingEvent>): Promise<string> => {
  const event = await viewer.find(({ type }) => type === 'qr');
  return event.type === 'qr' ? event.qr : '';
};

describe('a number that is paired through the connector', () => {
  it('is created, shown as a QR code, scanned, connected, and receives messages', async () => {
    const id = await create('Front desk');
    const viewer = await look(id);
    const qr = await picture(viewer);
    expect(readQr(qr).text).not.toBe('');
    await sandbox('POST', `/connections/${id}/scan`, { qr, phoneNumber: '447700900131' });
    await viewer.ended;
    expect(viewer.events.at(-1)).toEqual({ type: 'connected', status: 'connected' });
    expect(await mirrored(id)).toMatchObject({ phoneNumber: '447700900131', health: 'working' });
    await connector('POST', '/v1/sync', {});
    expect(await mirrored(id)).toMatchObject({ status: 'open', licenseValid: true, licenseStatus: 'trial' });
    const { messageId } = await sandbox<{ messageId: string }>('POST', `/contacts/${PERSON}/messages`, {
      connectionId: id,
      text: 'Hello',
    });
    await running.loop.settle();
    expect(await connector('GET', `/v1/messages/${messageId}`)).toMatchObject({ connectionId: id });
    await expect(
      connector('POST', `/v1/connections/${id}/pairing-code`, { phoneNumber: '1' }),
    ).rejects.toThrow(/400: .*invalid_phone_number/);
    await expect(
      connector('POST', `/v1/connections/${id}/pairing-code`, { phoneNumber: '447700900131' }),
    ).rejects.toThrow(/409: .*already_connected/);

    expect(await connector('POST', `/v1/connections/${id}/logout`)).toEqual({ ok: true });
    expect(await mirrored(id)).toMatchObject({ health: 'needs_reconnect' });
    expect(await connector('POST', `/v1/connections/${id}/restart`)).toMatchObject({ ok: true });
    expect(await mirrored(id)).toMatchObject({ health: 'connecting' });
    const again = await look(id);
    expect(await picture(again)).not.toBe(qr);
    again.close();
    await connector('DELETE', `/v1/connections/${id}`);
    expect(await connector('DELETE', `/v1/connections/${id}`)).toEqual({ ok: true });
    await expect(connector('GET', `/v1/connections/${id}/pairing`)).rejects.toThrow(/404: .*not_found/);
    expect(await mirrored(id)).toMatchObject({ health: 'deleted' });
  });

  it('can be paired with a code', async () => {
    const id = await create('By code');
    const { code } = await connector<{ code: string }>('POST', `/v1/connections/${id}/pairing-code`, {
      phoneNumber: '447700900132',
    });
    await sandbox('POST', `/connections/${id}/enter-code`, { code });
    const viewer = await look(id);
    await viewer.ended;
    expect(viewer.events).toEqual([{ type: 'connected', status: 'connected' }]);
  });

  it('is refused if the connection cannot pair, and in a portal', async () => {
    const { workspace } = await sandbox<{ workspace: { id: string } }>('POST', '/workspaces', {
      kind: 'crm_portal',
    });
    const { connection } = await sandbox<{ connection: { id: string } }>(
      'POST',
      `/workspaces/${workspace.id}/connections`,
      { provider: 'cloud_api', phoneNumber: '447700900133' },
    );
    const { key } = await sandbox<{ key: string }>('POST', `/workspaces/${workspace.id}/api-keys`, {});
    const { baseUrl } = running.loop.info();
    const account = await connector<{ id: string }>('POST', '/v1/accounts', { baseUrl, apiKey: key });
    await expect(connector('POST', '/v1/connections', { accountId: account.id })).rejects.toThrow(
      /403: .*forbidden_portal_kind.*admin/,
    );
    const pairing = `/v1/connections/${connection.id}/pairing?accountId=${account.id}`;
    await expect(connector('GET', pairing)).rejects.toThrow(/409: .*not_supported_for_provider/);
    await connector('DELETE', `/v1/accounts/${account.id}`);
  });
});

describe('a file that a person sends', () => {
  it('is served to the CRM unchanged and as a harmless type, and is reported as gone once it is deleted', async () => {
    const connectionId = await running.client.qrConnection();
    const bytes = randomBytes(1_000_003);
    const { messageId } = await sandbox<{ messageId: string }>('POST', `/contacts/${PERSON}/messages`, {
      connectionId,
      media: { filename: '../a"b.png', mimetype: 'image/png', data: bytes.toString('base64') },
    });
    const page = await sandbox<{ messageId: string }>('POST', `/contacts/${PERSON}/messages`, {
      connectionId,
      media: { filename: 'x.html', mimetype: 'text/html', data: Buffer.from('<script>').toString('base64') },
    });
    await running.loop.settle();
    const get = (id: string, method = 'GET') =>
      fetch(`${url}/v1/messages/${id}/media`, { method, headers: { authorization: `Bearer ${token}` } });
    const answer = await get(messageId);
    expect(answer.status).toBe(200);
    const digest = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');
    expect(digest(new Uint8Array(await answer.arrayBuffer()))).toBe(digest(bytes));
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(bytes.length),
      'content-disposition': `attachment; filename="message-${messageId}.png"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy':
        "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; sandbox",
      'cache-control': 'private, no-store',
    });
    const head = await get(messageId, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
    const harmless = await get(page.messageId);
    expect(harmless.headers.get('content-type')).toBe('application/octet-stream');
    expect(await harmless.text()).toBe('<script>');
    const { messageId: bare } = await sandbox<{ messageId: string }>('POST', `/contacts/${PERSON}/messages`, {
      connectionId,
      text: 'No file',
    });
    await running.loop.settle();
    const none = await get(bare);
    expect([none.status, await none.json()]).toEqual([404, expect.objectContaining({ error: 'no_media' })]);
    expect((await get('nothing')).status).toBe(404);
  });
});

describe('a read receipt', () => {
  it('marks the chat as read at the service, and does nothing when it is repeated', async () => {
    const connectionId = await running.client.qrConnection();
    const messageId = await running.client.write(connectionId, 'Read me');
    await running.loop.settle();
    const read = () =>
      connector<{ marked: number }>('POST', '/v1/read-receipts', { connectionId, messageId });
    expect((await read()).marked).toBeGreaterThan(0);
    expect(await read()).toEqual({ ok: true, marked: 0 });
    await expect(
      connector('POST', '/v1/read-receipts', { connectionId, messageId: 'nothing' }),
    ).rejects.toThrow(/404: .*not_found/);
  });
});
