import { beforeEach, describe, expect, test } from 'vitest';
import { sendLatencyMs } from '../../../src/platform/messages/send-timing.ts';
import { ofFile } from '../../support/of-file.ts';
import { type ApiAnswer, seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

describe('latency of a send', () => {
  /** With a draw of 0 a `qr` send of 10 characters takes this long. */
  const LATENCY_MS = 1_300;
  const text = '0123456789';
  const clock = new WatchedClock();
  const service = ofFile(() => startTestPlatform({ clock, sendScale: 1, ports: { random: () => 0 } }));
  let to: string;
  let send: (changed?: object) => Promise<ApiAnswer>;
  let nextPhone = 4915200000000;
  beforeEach(async () => {
    await service.platform.reset();
    await service.platform.time.run();
    clock.forget();
    const { key, connectionId } = await seedWorkspace(service);
    to = String(nextPhone++);
    send = (changed = {}) => {
      const body = { connectionId, to, text, idempotencyKey: 'slow', ...changed };
      return service.call('POST', '/messages', { key, body });
    };
  });

  test('a different message with its key returns idempotency_key_reuse meanwhile', async () => {
    proves('choice.send-key.other-body');
    const first = send();
    await clock.timerSet(LATENCY_MS);
    const other = await send({ text: '9876543210' });
    expect([other.status, other.body]).toEqual([400, { error: 'idempotency_key_reuse' }]);
    await clock.advance(LATENCY_MS);
    expect((await first).status).toBe(200);
    expect(await service.platform.contacts.received(to)).toMatchObject([{ text }]);
  });

  test('a concurrent retry returns 409 with Retry-After, a later one the answer', async () => {
    proves('messages.send.in-progress', 'messages.send.latency-qr');
    proves('errors.in_progress');
    proves('service.qr.humanized');
    let answered = false;
    const first = send().finally(() => {
      answered = true;
    });
    await clock.timerSet(LATENCY_MS);
    await clock.advance(LATENCY_MS - 1);
    const retry = await send();
    expect([retry.status, retry.body]).toEqual([409, { error: 'in_progress' }]);
    expect(retry.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(answered).toBe(false);
    await clock.advance(1);
    expect((await first).status).toBe(200);
    expect((await send()).body).toEqual((await first).body);
    expect(await service.platform.contacts.received(to)).toHaveLength(1);
  });

  test('a send continues when virtual time is advanced past its end, and not before', async () => {
    const first = send();
    await clock.timerSet(LATENCY_MS);
    await service.platform.time.advance({ ms: LATENCY_MS - 1 });
    expect((await send()).status).toBe(409);
    await service.platform.time.advance({ ms: 1 });
    expect((await first).status).toBe(200);
    expect(await service.platform.contacts.received(to)).toMatchObject([{ at: service.platform.time.now() }]);
  });

  test('a send ends by the wall clock if virtual time is frozen', async () => {
    const at = await service.platform.time.freeze();
    const first = send();
    await clock.timerSet(LATENCY_MS);
    await clock.advance(LATENCY_MS);
    expect((await first).status).toBe(200);
    expect(service.platform.time.now()).toBe(at);
  });

  test('a stopping platform gives up sends that the network has not received, and frees their keys', async () => {
    const first = send();
    await clock.timerSet(LATENCY_MS);
    await service.restart();
    expect((await first).status).toBe(502);
    expect(await service.platform.contacts.received(to)).toEqual([]);
    service.platform.timing.setSendScale(0);
    expect((await send()).status).toBe(200);
    expect(await service.platform.contacts.received(to)).toHaveLength(1);
  });

  test('a reset during a send removes it completely', async () => {
    const first = send();
    await clock.timerSet(LATENCY_MS);
    await service.platform.reset();
    expect((await first).status).toBe(502);
    expect(await service.platform.contacts.received(to)).toEqual([]);
    expect(await service.database.query('SELECT 1 FROM platform.sends')).toEqual([]);
  });

  test.each([
    ['qr', 2, 0, 1_000, 7_000],
    ['qr', 2, 0.999, 1_000, 7_000],
    ['qr', 100, 0.999, 1_000, 7_000],
    ['qr', 4_096, 0.999, 7_000, 20_000],
    ['cloud_api', 4_096, 0, 500, 1_500],
    ['cloud_api', 2, 0.999, 500, 1_500],
  ] as const)(
    'depends on provider and length: %s, %d characters, draw %d: %d to %d ms',
    (provider, characters, draw, least, most) => {
      proves('messages.send.latency-qr', 'messages.send.latency-long', 'messages.send.latency-cloud-api');
      proves('service.qr.humanized', 'service.cloud-api.latency');
      proves('limits.send-humanization');
      const ms = sendLatencyMs(provider, 'x'.repeat(characters), draw);
      expect(ms).toBeGreaterThanOrEqual(least);
      expect(ms).toBeLessThanOrEqual(most);
    },
  );
});
