import { describe, expect, it } from 'vitest';
import { receivedEvent, shareDatabase, useHook } from './fixture.ts';

shareDatabase();

describe('the record of an attempt', () => {
  const hook = useHook();

  /** The first attempt of an event. If it failed, the next one succeeds. */
  const deliver = async (isFailure = false) => {
    await hook.fixture.emit(receivedEvent('cmessage1'));
    if (isFailure) {
      await hook.fixture.clock.timerSet(500);
      await hook.fixture.clock.advance(500);
    }
    await hook.fixture.delivery.settle();
    const [delivery] = await hook.fixture.delivery.list({ limit: 1 });
    return delivery?.attempts[0];
  };

  it('keeps what the receiver answered, with the headers that explain it and no cookie', async () => {
    hook.receiver.script({
      status: 503,
      headers: {
        'Content-Type': 'text/html',
        'Retry-After': '30',
        Server: 'nginx',
        'Set-Cookie': 'session=secret',
        'X-Anything': '1',
      },
      body: '<b>Grüße</b>',
    });
    const response = {
      headers: { 'content-type': 'text/html', 'retry-after': '30', server: 'nginx' },
      body: '<b>Grüße</b>',
    };
    expect(await deliver(true)).toMatchObject({ status: 503, response });
  });

  it('keeps where a redirect leads', async () => {
    hook.receiver.script({ status: 302, headers: { Location: 'https://login.example.com/' } });
    const attempt = await deliver(true);
    expect(attempt?.response).toEqual({ headers: { location: 'https://login.example.com/' }, body: '' });
  });

  it('keeps 16 kB of a body, never a part of a character, and the number of bytes that follow', async () => {
    hook.receiver.script({ status: 200, body: `x${'€'.repeat(6_000)}` });
    const attempt = await deliver();
    expect(attempt?.response?.body).toBe(`x${'€'.repeat(5_461)}… (1617 more bytes)`);
  });

  it('keeps a body of exactly 16 kB whole', async () => {
    hook.receiver.script({ status: 200, body: 'x'.repeat(16_384) });
    const attempt = await deliver();
    expect(attempt?.response?.body).toBe('x'.repeat(16_384));
  });

  it('keeps bytes that are no text and no value of Postgres as replacement characters', async () => {
    hook.receiver.script({ status: 200, body: Buffer.from([0x61, 0x00, 0xff, 0x62]) });
    const attempt = await deliver();
    expect(attempt?.response?.body).toBe('a\ufffd\ufffdb');
  });

  it('keeps the beginning of an answer that is too long, and nothing without an answer', async () => {
    hook.receiver.script({ status: 200, body: 'y'.repeat(70_000) });
    const body = `${'y'.repeat(16_384)}… (53616 more bytes)`;
    expect(await deliver()).toMatchObject({ status: 200, response: { body } });
    hook.receiver.script({ reset: true });
    expect(await deliver(true)).not.toHaveProperty('response');
    hook.receiver.script({ status: 204 });
    expect(await deliver()).not.toHaveProperty('response');
  });
});
