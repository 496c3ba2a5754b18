import { type ClientRequest, request as openRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkAnswer } from '../../support/check-answer.ts';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const PHONE = '4915112340001';
const media = { filename: 'a.png', mimetype: 'image/png', data: 'QUJD' };

interface Upload {
  /** Status, `Retry-After` and body of the answer, once there is one. */
  readonly answered: Promise<{ status: number; retryAfter: string | undefined; body: unknown }>;
  readonly request: ClientRequest;
}

describe('concurrent uploads', () => {
  let service: TestPlatform;
  let uploads: Upload[];
  beforeEach(async () => {
    service = await startTestPlatform();
    uploads = [];
  });
  afterEach(async () => {
    for (const { request } of uploads) request.destroy();
    await service.close();
  });

  /** Begins a send whose file never ends. */
  function begin(key: string, connectionId: string): Upload {
    const request = openRequest({
      port: service.port,
      path: '/api/v1/messages',
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    const answered = new Promise<Awaited<Upload['answered']>>((resolve) => {
      request.on('error', () => undefined);
      request.on('response', async (response) => {
        const text = (await response.toArray()).join('');
        const { statusCode: status = 0, headers } = response;
        const body: unknown = JSON.parse(text);
        const header = (name: string) => new Headers(headers as Record<string, string>).get(name);
        checkAnswer('service', 'POST', '/messages', { status, body, header });
        resolve({ status, retryAfter: headers['retry-after'], body });
      });
    });
    const { data: _data, ...file } = media;
    const start = JSON.stringify({ connectionId, to: PHONE, media: file });
    request.write(`${start.slice(0, -2)},"data":"QUJD`);
    const upload = { answered, request };
    uploads.push(upload);
    return upload;
  }

  const send = (key: string, connectionId: string) =>
    service.call('POST', '/messages', { key, body: { connectionId, to: PHONE, media } });

  it('of one workspace leave capacity for the others', proves('choice.upload.places'), async () => {
    const [stuck, other] = [await seedWorkspace(service), await seedWorkspace(service)];
    const stopped = Array.from({ length: 81 }, () => begin(stuck.key, stuck.connectionId));
    const beyond = await Promise.race(stopped.map(({ answered }) => answered));
    expect(beyond).toEqual({ status: 429, retryAfter: '5', body: { error: 'rate_limited' } });
    expect((await send(other.key, other.connectionId)).status).toBe(200);
    const text = await service.call('POST', '/messages', {
      key: stuck.key,
      body: { connectionId: stuck.connectionId, to: PHONE, text: 'texts pass' },
    });
    expect(text.status).toBe(200);
  });

  it('that stall release their places after eight seconds each', proves('choice.upload.pace'), async () => {
    const { key, connectionId } = await seedWorkspace(service);
    const before = service.clock.pending;
    const stopped = Array.from({ length: 16 }, () => begin(key, connectionId));
    await expect.poll(() => service.clock.pending).toBe(before + 16);
    await service.clock.advance(8_000);
    for (const { answered } of stopped) {
      expect(await answered).toEqual({
        status: 400,
        retryAfter: undefined,
        body: { error: 'invalid_request', field: 'body', hint: 'was sent too slowly' },
      });
    }
    expect((await send(key, connectionId)).status).toBe(200);
  });

  it('that are too slow end like those that stall', proves('choice.upload.pace'), async () => {
    const { key, connectionId } = await seedWorkspace(service);
    const before = service.clock.pending;
    const { answered, request } = begin(key, connectionId);
    let ended = false;
    void answered.then(() => {
      ended = true;
    });
    await expect.poll(() => service.clock.pending).toBe(before + 1);
    // A second for each KB: 32 times slower than the least speed.
    for (let seconds = 0; !ended && seconds < 20; seconds++) {
      request.write('QUJD'.repeat(256));
      await new Promise((resolve) => setImmediate(resolve));
      await service.clock.advance(1_000);
    }
    expect((await answered).body).toMatchObject({ error: 'invalid_request', hint: 'was sent too slowly' });
  });
});
