import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createLedger } from '../../../src/platform/webhooks/ledger.ts';
import { receivedEvent, shareDatabase, WORKSPACE } from '../../platform/webhooks/fixture.ts';
import { useHookedSandbox } from '../hooked-sandbox.ts';
import { useControl } from './control-fixture.ts';

const start = Date.UTC(2026, 0, 15, 12);

shareDatabase();

describe('a copy of a delivery', () => {
  const controlled = useControl({ attemptsAtOnce: 1 });
  const { hook, newest } = controlled;

  const emitOne = async (): Promise<number> => {
    await hook.fixture.deliver(receivedEvent('cmessage1'));
    return (await newest()).id;
  };

  it('contains other bytes, signed with the current secret, and leaves its original unchanged', async () => {
    const id = await emitOne();
    const origin = await newest();
    const { secret } = await hook.fixture.configuration.rotate(WORKSPACE);
    await hook.fixture.clock.advance(600_000);
    const copy = await controlled.control.copy(id, { body: '{"event":"message.new","text":"é\ud800"}' });
    expect(copy).toMatchObject({ id: id + 1, variantOf: id, outcome: 'pending', messageId: 'cmessage1' });
    await hook.fixture.delivery.settle();

    const [, request] = hook.receiver.requests;
    const body = '{"event":"message.new","text":"é\ufffd"}';
    expect(request?.body.toString()).toBe(body);
    const hex = createHmac('sha256', secret)
      .update(`${start + 600_000}.${body}`)
      .digest('hex');
    expect(request?.headers['x-service-timestamp']).toEqual([String(start + 600_000)]);
    expect(request?.headers['x-service-signature']).toEqual([`sha256=${hex}`]);
    expect(await newest()).toMatchObject({
      id: id + 1,
      variantOf: id,
      outcome: 'delivered',
      body,
      attempts: [{ at: start + 600_000, status: 200 }],
    });
    expect(await hook.fixture.delivery.find(id)).toEqual(origin);
  });

  it('is sent even if it cannot be read once it is stored', async () => {
    await expect(controlled.halfBlind.copy(await emitOne())).rejects.toThrow('the connection ended');
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests).toHaveLength(2);
  });

  it('contains the bytes and headers of its original by default', async () => {
    const id = await emitOne();
    await controlled.control.copy(id);
    await controlled.control.copy(id, { headers: { 'CONTENT-TYPE': 'text/plain', 'X-Trace': 'a b' } });
    await hook.fixture.delivery.settle();
    const [first, same, changed] = hook.receiver.requests;
    expect(same?.body).toEqual(first?.body);
    expect(same?.headers).toEqual(first?.headers);
    expect(changed?.body).toEqual(first?.body);
    expect(changed?.headers).toEqual({
      ...first?.headers,
      'content-type': ['text/plain'],
      'x-trace': ['a b'],
    });
    const { id: changedId, headers } = await newest();
    expect(headers).toMatchObject({ 'Content-Type': 'text/plain', 'X-Trace': 'a b' });

    await controlled.control.copy(changedId, { headers: { 'x-trace': 'c' } });
    await controlled.control.resend(changedId);
    await controlled.control.resend(changedId, { resign: true });
    await hook.fixture.delivery.settle();
    const traces = hook.receiver.requests.slice(2).map(({ headers: sent }) => sent['x-trace']);
    expect(traces.toSorted()).toEqual([['a b'], ['a b'], ['a b'], ['c']]);
  });

  it('is attempted three times and then dropped, and can be held', async () => {
    const id = await emitOne();
    hook.receiver.otherwise({ status: 500 });
    const copy = await controlled.control.copy(id, { body: 'not JSON' });
    const copyId = typeof copy === 'object' ? (copy?.id ?? 0) : 0;
    await hook.fixture.clock.timerSet(500);
    expect(await controlled.control.hold(copyId)).toMatchObject({ held: true, variantOf: id });
    await hook.fixture.clock.advance(10_000);
    expect(hook.receiver.requests).toHaveLength(2);
    await controlled.control.release(copyId);
    await hook.fixture.retry(1_000);
    expect(await newest()).toMatchObject({
      id: copyId,
      outcome: 'dropped',
      reason: null,
      body: 'not JSON',
      attempts: [{ status: 500 }, { status: 500 }, { status: 500 }],
    });
    expect(hook.receiver.requests.slice(1).map(({ body }) => body.toString())).toEqual([
      'not JSON',
      'not JSON',
      'not JSON',
    ]);
  });

  it('waits behind the events before it', async () => {
    const id = await emitOne();
    const answer = Promise.withResolvers<void>();
    hook.receiver.script({ after: answer.promise });
    await hook.fixture.emit(receivedEvent('cmessage2'));
    await hook.receiver.received(2);
    for (const body of ['one', 'two', 'three']) await controlled.control.copy(id, { body });
    expect((await hook.fixture.delivery.list({ limit: 3 })).map(({ body }) => body)).toEqual([
      'three',
      'two',
      'one',
    ]);
    answer.resolve();
    await hook.fixture.delivery.settle();
    expect(hook.receiver.requests.slice(2).map(({ body }) => body.toString())).toEqual([
      'one',
      'two',
      'three',
    ]);
  });

  it('is not in the ledger', async () => {
    const id = await emitOne();
    await controlled.control.copy(id, { body: '{}' });
    await hook.fixture.delivery.settle();
    const entries = await createLedger(hook.fixture).read({}, 10);
    expect(entries).toMatchObject([{ seq: 1, messageId: 'cmessage1' }]);
    expect(entries[0]?.payload).toMatchObject({ event: 'message.received' });
  });

  it('cannot be made of an unknown delivery, or if no webhook is set', async () => {
    expect(await controlled.control.copy(4_711)).toBeNull();
    await hook.fixture.deliver(receivedEvent('cmessage1', 'hello', 'cworkspace000000000000002'));
    expect(await controlled.control.copy((await newest()).id)).toBe('unsigned');
  });
});

describe('POST /deliveries/{id}/copies', () => {
  const bed = useHookedSandbox();

  const writeOne = async (): Promise<string> => {
    await bed.write();
    await bed.service.platform.delivery.settle();
    return (await bed.call('GET', '/deliveries?limit=1')).body.entries[0].id;
  };

  it('returns the copy, which lists mark as one', async () => {
    const id = await writeOne();
    const state = () => Promise.all([bed.api('GET', '/messages'), bed.call('GET', '/ledger')]);
    const before = await state();
    const body = '{"event":"message.received","more":true}';
    const copy = await bed.call('POST', `/deliveries/${id}/copies`, { body, headers: { 'X-Test': '1' } });
    expect(copy).toMatchObject({ status: 201, body: { copyOf: id, body, connectionId: bed.connectionId } });
    await bed.service.platform.delivery.settle();
    const found = (await bed.call('GET', '/deliveries?q=more')).body.entries;
    expect(found.map(({ id: foundId }: { id: string }) => foundId)).toEqual([copy.body.id]);
    const { entries } = (await bed.call('GET', '/deliveries?limit=2')).body;
    expect(entries).toMatchObject([
      { id: copy.body.id, copyOf: id, outcome: 'delivered', body, headers: { 'X-Test': '1' } },
      { id },
    ]);
    expect(entries[1]).not.toHaveProperty('copyOf');
    const [messages, ledger] = await state();
    expect(messages.body).toEqual(before[0].body);
    expect(ledger.body).toEqual(before[1].body);
  });

  it('is subject to the faults of its event', async () => {
    const id = await writeOne();
    const match = { surface: 'webhook', event: 'message.received' };
    const rule = { id: 'gone', match, action: { type: 'drop' }, per: 'event' };
    await bed.call('PUT', '/faults', { rules: [rule] });
    const { body: copy } = await bed.call('POST', `/deliveries/${id}/copies`);
    await bed.clock.pass(500);
    await bed.clock.pass(1_000);
    await bed.service.platform.delivery.settle();
    const { entries } = (await bed.call('GET', '/deliveries?limit=1')).body;
    const dropped = { error: 'dropped', faults: ['gone'] };
    expect(entries).toMatchObject([
      { id: copy.id, copyOf: id, outcome: 'dropped', attempts: [dropped, dropped, dropped] },
    ]);
    expect(bed.receiver.requests).toHaveLength(1);
  });

  it('uses the current webhook, with the same rules for addresses', async () => {
    const id = await writeOne();
    await bed.api('PUT', '/webhook', { url: 'https://moved.example.com/hook' });
    await bed.call('PUT', '/hosts/moved.example.com', { target: bed.receiver.origin });
    await bed.call('POST', `/deliveries/${id}/copies`);
    await bed.service.platform.delivery.settle();
    const { entries } = (await bed.call('GET', '/deliveries?limit=1')).body;
    expect(entries).toMatchObject([
      { copyOf: id, url: 'https://moved.example.com/hook', outcome: 'delivered' },
    ]);
    expect(bed.receiver.requests[1]).toMatchObject({ path: '/hook' });
  });

  it.each([
    [{ body: 1 }, 'body', "'body': must be a string."],
    [{ body: '\u0000' }, 'body', "'body': must not contain a NUL."],
    [{ headers: { 'X-Service-Signature': 'sha256=00' } }, 'headers.X-Service-Signature', 'signature'],
    [{ headers: { 'content-length': '1' } }, 'headers.content-length', 'connection'],
    [{ headers: { 'a b': '1' } }, 'headers.a b', 'is not a header name'],
    [{ headers: { a: 'b\r\nc: d' } }, 'headers.a', 'is not a header value'],
    [{ headers: { a: ' b' } }, 'headers.a', 'is not a header value'],
    [{ event: 'x' }, 'event', 'is not a known field'],
  ])('refuses %j and names the field', async (body, field, message) => {
    const id = await writeOne();
    const answer = await bed.call('POST', `/deliveries/${id}/copies`, body);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request', field } });
    expect(answer.body.message).toContain(message);
  });

  it('returns 404 for an unknown delivery', async () => {
    for (const id of ['999999', 'x']) {
      const answer = await bed.call('POST', `/deliveries/${id}/copies`);
      expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } });
    }
  });
});
