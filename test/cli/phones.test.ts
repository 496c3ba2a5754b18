import { expect, it } from 'vitest';
import type { CreatedConnectorConnection } from '../../src/contract/connector/connections.ts';
import { type PairingEvent, pairingEvent } from '../../src/contract/connector/pairing.ts';
import { type EventReader, readEvents } from '../support/event-reader.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { readQr } from '../support/read-qr.ts';

const running = loopOfFile();

it('a number that is paired through the connector is shown as a QR code, scanned, connected, and receives messages', async () => {
  const { connector, sandbox, connectorUrl, connectorToken } = running;
  const made = await connector<CreatedConnectorConnection>('POST', '/v1/connections', {
    label: 'Front desk',
  });
  const { id } = made.connection;
  const path = `/v1/connections/${id}`;
  const mirrored = () => connector<Record<string, unknown>>('GET', path);
  const look = (): Promise<EventReader<PairingEvent>> =>
    readEvents(`${connectorUrl}${path}/pairing`, (data) => pairingEvent.parse(data), {
      authorization: `Bearer ${connectorToken}`,
    });
  const picture = async (viewer: EventReader<PairingEvent>): Promise<string> => {
    const event = await viewer.find(({ type }) => type === 'qr');
    return event.type === 'qr' ? event.qr : '';
  };
  const viewer = await look();
  const qr = await picture(viewer);
  expect(readQr(qr).text).not.toBe('');
  await sandbox('POST', `/connections/${id}/scan`, { qr, phoneNumber: '447700900131' });
  await viewer.ended;
  expect(viewer.events.at(-1)).toEqual({ type: 'connected', status: 'connected' });
  expect(await mirrored()).toMatchObject({ phoneNumber: '447700900131', health: 'working' });
  await connector('POST', '/v1/sync', {});
  expect(await mirrored()).toMatchObject({ status: 'open', licenseValid: true, licenseStatus: 'trial' });
  const messageId = await running.client.write(id, 'Hello');
  await running.loop.settle();
  expect(await connector('GET', `/v1/messages/${messageId}`)).toMatchObject({ connectionId: id });

  expect(await connector('POST', `${path}/logout`)).toEqual({ ok: true });
  expect(await mirrored()).toMatchObject({ health: 'needs_reconnect' });
  expect(await connector('POST', `${path}/restart`)).toMatchObject({ ok: true });
  expect(await mirrored()).toMatchObject({ health: 'connecting' });
  const again = await look();
  expect(await picture(again)).not.toBe(qr);
  again.close();
  await connector('DELETE', path);
  await expect(connector('GET', `${path}/pairing`)).rejects.toThrow(/404: .*not_found/);
  expect(await mirrored()).toMatchObject({ health: 'deleted' });
});
