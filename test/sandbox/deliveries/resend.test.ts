import { describe, expect, it } from 'vitest';
import { TAMPERED } from '../../../src/sandbox/endpoints/delivery-endpoints.ts';
import { HOOK, receivedEvent, shareDatabase, WORKSPACE } from '../../platform/webhooks/fixture.ts';
import { isSignedWith } from '../../support/signed-request.ts';
import { useControl } from './control-fixture.ts';

const start = Date.UTC(2026, 0, 15, 12);

const tampered = (part: keyof typeof TAMPERED) => ({
  alter: { name: `tamper_${part}`, change: TAMPERED[part] },
});

shareDatabase();

describe('resending a delivery', () => {
  const controlled = useControl();
  const { hook } = controlled;

  const emitOne = async (): Promise<number> => {
    await hook.fixture.deliver(receivedEvent('cmessage1'));
    const [delivery] = await hook.fixture.delivery.list({ limit: 1 });
    return delivery?.id ?? 0;
  };

  it('repeats the bytes and the signature, as attempts of the same delivery', async () => {
    const id = await emitOne();
    await hook.fixture.clock.advance(60_000);
    const resent = await controlled.control.resend(id, { times: 2 });
    const [first, second, third] = hook.receiver.requests;
    expect(second).toEqual(first);
    expect(third).toEqual(first);
    expect(resent).toMatchObject({
      id,
      outcome: 'delivered',
      attempts: [
        { at: start, status: 200 },
        { at: start + 60_000, status: 200 },
        { at: start + 60_000, status: 200 },
      ],
    });
    expect((await hook.fixture.delivery.list({ limit: 10 })).map(({ id: listed }) => listed)).toEqual([id]);
    expect(await controlled.newest()).toEqual(resent);
  });

  it('signs again with the current secret on request', async () => {
    const id = await emitOne();
    const rotated = await hook.fixture.configuration.rotate(WORKSPACE);
    await hook.fixture.clock.advance(600_000);
    await controlled.control.resend(id, { resign: true });
    const [first, again] = hook.receiver.requests;
    expect(again?.body).toEqual(first?.body);
    expect(again?.headers['x-service-timestamp']).toEqual([String(start + 600_000)]);
    expect(isSignedWith(rotated.secret, again)).toBe(true);
  });

  it('alters one byte of the body, or the signature, or the timestamp, and nothing else', async () => {
    const id = await emitOne();
    hook.receiver.otherwise({ status: 401 });
    await controlled.control.resend(id, tampered('body'));
    await controlled.control.resend(id, tampered('signature'));
    const resent = await controlled.control.resend(id, tampered('timestamp'));
    const [first, body, signature, timestamp] = hook.receiver.requests;
    expect(body?.headers).toEqual(first?.headers);
    expect([...(first?.body ?? [])].filter((byte, at) => byte !== body?.body[at])).toHaveLength(1);
    expect(signature?.body).toEqual(first?.body);
    expect({ ...signature?.headers, 'x-service-signature': null }).toEqual({
      ...first?.headers,
      'x-service-signature': null,
    });
    expect(signature?.headers['x-service-signature']).not.toEqual(first?.headers['x-service-signature']);
    expect(timestamp?.headers).toEqual({ ...first?.headers, 'x-service-timestamp': [String(start + 1)] });
    expect(resent).toMatchObject({
      outcome: 'delivered',
      attempts: [
        { status: 200 },
        { status: 401, marks: ['tamper_body'] },
        { status: 401, marks: ['tamper_signature'] },
        { status: 401, marks: ['tamper_timestamp'] },
      ],
    });
  });

  it('makes a dropped delivery delivered if a receiver accepts it', async () => {
    await hook.fixture.configuration.put(WORKSPACE, 'https://gone.example.com/');
    hook.fixture.tunnels.set('gone.example.com', 'http://127.0.0.1:1');
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.pass(500);
    await hook.fixture.retry(1_000);
    const [dropped] = await hook.fixture.delivery.list({ limit: 1 });
    expect(dropped?.outcome).toBe('dropped');
    hook.fixture.tunnels.set('gone.example.com', hook.receiver.origin);
    expect(await controlled.control.resend(dropped?.id ?? 0)).toMatchObject({ outcome: 'delivered' });
  });

  it('repeats a pending delivery without affecting its own attempts', async () => {
    hook.receiver.script({ status: 500 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(500);
    const [pending] = await hook.fixture.delivery.list({ limit: 1 });
    const resent = await controlled.control.resend(pending?.id ?? 0);
    expect(resent).toMatchObject({ outcome: 'pending', attempts: [{ status: 500 }, { status: 200 }] });
    await hook.fixture.clock.advance(500);
    await hook.fixture.delivery.settle();
    const [delivered] = await hook.fixture.delivery.list({ limit: 1 });
    expect(delivered?.attempts.map(({ status }) => status)).toEqual([500, 200, 200]);
  });

  it('sends a delivery that had no webhook once there is one', async () => {
    const workspace = 'cworkspace000000000000002';
    await hook.fixture.deliver(receivedEvent('cmessage1', 'hello', workspace));
    const [unsent] = await hook.fixture.delivery.list({ limit: 1 });
    expect(await controlled.control.resend(unsent?.id ?? 0)).toBe('unsigned');
    await hook.fixture.configuration.put(workspace, HOOK);
    expect(await controlled.control.resend(unsent?.id ?? 0)).toMatchObject({
      outcome: 'delivered',
      reason: null,
      url: HOOK,
      headers: { 'X-Service-Timestamp': String(start) },
    });
    expect(hook.receiver.requests).toHaveLength(1);
  });

  it('requires an existing delivery', async () => {
    expect(await controlled.control.resend(123_456)).toBeNull();
  });

  it('ends with the process', async () => {
    const id = await emitOne();
    hook.receiver.otherwise({ hang: true });
    const resent = controlled.control.resend(id);
    await hook.receiver.received(2);
    await hook.fixture.delivery.close();
    expect(await resent).toMatchObject({ attempts: [{ status: 200 }, { error: 'stopped' }] });
  });
});
