import { PNG } from 'pngjs';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectionDetailAnswer, createdConnectionAnswer } from '../../src/contract/service/connections.ts';
import { drawPicture } from '../../src/platform/connections/pairing/draw-picture.ts';
import { scanPicture } from '../../src/sandbox/endpoints/phone-camera.ts';
import { ofFile } from '../support/of-file.ts';
import { startTestSandbox } from './fixture.ts';

const HEAD = 'data:image/png;base64,';
const toDataUri = (bytes: Buffer): string => HEAD + bytes.toString('base64');
const fromDataUri = (uri: string): Buffer => Buffer.from(uri.slice(HEAD.length), 'base64');

/** The picture as a screenshot shows it: in colour, smaller or larger, with much around it. */
function screenshot(uri: string, scale: number): string {
  const drawn = PNG.sync.read(fromDataUri(uri));
  const side = Math.round(drawn.width * scale);
  const margin = 60;
  const shot = new PNG({ width: side + 2 * margin, height: side + 2 * margin });
  shot.data.fill(230);
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      const from = (Math.floor(y / scale) * drawn.width + Math.floor(x / scale)) * 4;
      const to = ((y + margin) * shot.width + x + margin) * 4;
      drawn.data.copy(shot.data, to, from, from + 4);
    }
  }
  return toDataUri(PNG.sync.write(shot));
}

/** A small file that claims to be a large picture. */
function claimingSize(uri: string, side: number): string {
  const bytes = fromDataUri(uri);
  bytes.writeUInt32BE(side, 16);
  bytes.writeUInt32BE(side, 20);
  return toDataUri(bytes);
}

describe('the phone of an owner', () => {
  const sandbox = ofFile(startTestSandbox);
  let workspaceId: string;
  let key: string;
  beforeAll(async () => {
    ({ workspaceId, apiKey: key } = sandbox.sandbox.info());
  });

  async function create() {
    const { body } = await sandbox.service.call('POST', '/connections', { key });
    return createdConnectionAnswer.parse(body).connection;
  }
  async function detail(id: string) {
    const { body } = await sandbox.service.call('GET', `/connections/${id}`, { key });
    return connectionDetailAnswer.parse(body).connection;
  }
  const scan = (id: string, qr: string, phoneNumber?: string) =>
    sandbox.call('POST', `/connections/${id}/scan`, {
      qr,
      ...(phoneNumber === undefined ? {} : { phoneNumber }),
    });
  const enter = (id: string, code: string) => sandbox.call('POST', `/connections/${id}/enter-code`, { code });
  const codeOf = async (id: string, phoneNumber: string) => {
    const { body } = await sandbox.service.call('POST', `/connections/${id}/pairing-code`, {
      key,
      body: { phoneNumber },
    });
    return (body as { code: string }).code;
  };

  test('scans the QR code of the detail, and the connection is connected', async () => {
    const { id } = await create();
    const { qr = '' } = await detail(id);
    expect(await scan(id, qr, '447700900131')).toMatchObject({ status: 200, body: { ok: true } });
    expect(await detail(id)).toMatchObject({ status: 'connected', phoneNumber: '447700900131' });
    expect(await scan(id, qr)).toMatchObject({ status: 409, body: { error: 'already_connected' } });
  });

  test('scans the first QR code as well, and a screenshot of it, larger or smaller', async () => {
    for (const scale of [null, 0.5, 1.5]) {
      const { id, qr } = await create();
      expect((await scan(id, scale === null ? qr : screenshot(qr, scale))).status).toBe(200);
    }
  });

  test('is shown what is wrong with any other image', async () => {
    const { id, qr } = await create();
    const other = await create();
    const blank = new PNG({ width: 200, height: 200 });
    blank.data.fill(255);
    const pictures = {
      'not base64': `${HEAD}!!!`,
      'no picture': toDataUri(Buffer.from('no picture at all, but long enough for a header')),
      'nothing at all': HEAD,
      'no symbol': toDataUri(PNG.sync.write(blank)),
      'cut off': toDataUri(fromDataUri(qr).subarray(0, 200)),
      'another symbol': drawPicture('HTTPS://EXAMPLE.COM'),
      'another connection': other.qr,
      'a size that is not true': claimingSize(qr, 60_000),
    };
    for (const [what, picture] of Object.entries(pictures)) {
      const { status, body } = await scan(id, picture);
      expect([what, status, body.error, body.field]).toEqual([what, 400, 'invalid_request', 'qr']);
    }
    expect((await sandbox.call('POST', `/connections/${id}/scan`, { qr: 'http://x' })).status).toBe(400);
    expect((await scan(id, qr)).status).toBe(200);
  });

  test('does not decompress an image that claims to be large, or is interlaced', () => {
    const qr = drawPicture('A');
    const interlaced = fromDataUri(qr);
    interlaced[28] = 1;
    expect([scanPicture(qr), scanPicture(toDataUri(interlaced))]).toEqual(['A', null]);
    expect(scanPicture(claimingSize(qr, 2_049))).toBeNull();
  });

  test('cannot pair a number of another connection, nor give a connection another number', async () => {
    const [one, second] = [await create(), await create()];
    await scan(one.id, one.qr, '447700900141');
    const taken = await scan(second.id, second.qr, '447700900141');
    expect(taken).toMatchObject({ status: 409, body: { error: 'wrong_state' } });
    await sandbox.service.call('POST', `/connections/${one.id}/logout`, { key });
    const { qr = '' } = await detail(one.id);
    const wrong = await scan(one.id, qr, '447700900142');
    expect(wrong).toMatchObject({ status: 409, body: { error: 'wrong_state' } });
    expect(await scan(one.id, qr)).toMatchObject({ status: 200 });
  });

  test('accepts the code, after a wrong one', async () => {
    const { id } = await create();
    const code = await codeOf(id, '447700900151');
    expect(await enter(id, 'ZZZZ-ZZZZ')).toMatchObject({ status: 409, body: { error: 'code_expired' } });
    expect(await enter(id, code)).toMatchObject({ status: 200, body: { ok: true } });
    expect(await detail(id)).toMatchObject({ status: 'connected', phoneNumber: '447700900151' });
    expect(await enter(id, code)).toMatchObject({ status: 409, body: { error: 'already_connected' } });
  });

  test('cannot pair an unknown connection, or one that never pairs', async () => {
    const { qr } = await create();
    expect(await scan('nothing', qr)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    const { body } = await sandbox.call('POST', `/workspaces/${workspaceId}/connections`, {
      provider: 'cloud_api',
      phoneNumber: '447700900161',
    });
    const refused = { status: 409, body: { error: 'not_supported_for_provider' } };
    expect(await scan(body.connection.id, qr)).toMatchObject(refused);
    expect(await enter(body.connection.id, 'AAAA-AAAA')).toMatchObject(refused);
  });
});
