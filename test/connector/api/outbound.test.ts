import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Outbound } from '../../../src/contract/connector/outbound.ts';
import { loopOfFile } from '../../support/loop-of-file.ts';

const PHONE = '447700900201';

const running = loopOfFile();
let connectionId: string;
let snapshotId: string;

beforeAll(async () => {
  connectionId = await running.client.qrConnection();
  await running.connector('POST', '/v1/sync', {});
  ({ id: snapshotId } = await running.sandbox<{ id: string }>('POST', '/snapshots', {}));
});
afterEach(() => running.sandbox('POST', `/snapshots/${snapshotId}/restore`));

async function queue(content: object, reference: string = randomUUID()): Promise<string> {
  const body = { connectionId, to: PHONE, reference, ...content };
  return (await running.connector<{ outboundId: string }>('POST', '/v1/messages', body)).outboundId;
}

const read = (id: string) => running.connector<Outbound>('GET', `/v1/outbound/${id}`);

/** The service refuses every send from now on. */
const refuseSends = (code: number, error: string, retryAfter?: number) =>
  running.sandbox('PUT', '/faults', {
    rules: [
      {
        id: 'refused',
        match: { surface: 'api', method: 'POST', path: '/messages' },
        action: { type: 'status', code, error, ...(retryAfter === undefined ? {} : { retryAfter }) },
      },
    ],
  });

interface Received {
  readonly text: string | null;
  readonly media?: { readonly sha256: string };
}

async function received(): Promise<readonly Received[]> {
  return (await running.sandbox<{ entries: Received[] }>('GET', `/contacts/${PHONE}/messages`)).entries;
}

describe('a queued send', () => {
  it('is sent, becomes a message of the connector, and is reported in the feed', async () => {
    const id = await queue({ text: 'Good morning' });
    await running.loop.settle();
    const outbound = await read(id);
    expect(outbound).toMatchObject({ state: 'sent', attempts: 1, lastError: null, nextAttemptAt: null });
    const messageId = outbound.messageId ?? expect.fail('no message');
    const message = await running.connector('GET', `/v1/messages/${messageId}`);
    expect(message).toMatchObject({ direction: 'outgoing', peer: PHONE, text: 'Good morning' });
    expect((await received()).filter(({ text }) => text === 'Good morning')).toHaveLength(1);
    const changes = (await running.client.changes()).filter(({ data }) => data['id'] === id);
    expect(changes.map(({ type, data }) => [type, data['state']])).toEqual([
      ['outbound.updated', 'queued'],
      ['outbound.updated', 'sending'],
      ['outbound.updated', 'sent'],
    ]);
    expect(changes.at(-1)?.messageId).toBe(messageId);
  });

  it.each([
    ['an unknown connection', { text: 'x', connectionId: 'nowhere' }, /404: .*not_found/],
    ['neither text nor file', {}, /400: .*invalid_request/],
    [
      'both',
      { text: 'x', media: { filename: 'a', mimetype: 'a/b', data: 'AAAA' } },
      /400: .*invalid_request/,
    ],
    ['a recipient with a plus', { text: 'x', to: '+447700900201' }, /400: .*invalid_request.*to/],
    ['a text of 4097 characters', { text: 'x'.repeat(4_097) }, /400: .*invalid_request.*text/],
    ['a file that is not base64', { media: { filename: 'a', mimetype: 'a/b', data: '***' } }, /400/],
  ])('is refused with %s', async (_what, content, refusal) => {
    await expect(queue(content)).rejects.toThrow(refusal);
  });
});

describe('an operator', () => {
  it('can cancel only what is queued', async () => {
    await refuseSends(429, 'rate_limited', 600);
    const id = await queue({ text: 'never' });
    await running.loop.settle();
    const waiting = await read(id);
    expect(waiting).toMatchObject({ state: 'queued', attempts: 1, lastError: 'rate_limited' });
    expect(waiting.nextAttemptAt).not.toBeNull();
    expect(await running.connector('DELETE', `/v1/outbound/${id}`)).toMatchObject({ id, state: 'cancelled' });
    await expect(running.connector('DELETE', `/v1/outbound/${id}`)).rejects.toThrow(/409: .*not_cancellable/);
    await expect(running.connector('DELETE', '/v1/outbound/nothing')).rejects.toThrow(/404/);
    await running.loop.settle();
    expect((await received()).filter(({ text }) => text === 'never')).toEqual([]);
  });

  it('can retry a rejected send, and nothing that was sent', async () => {
    await refuseSends(402, 'license_inactive');
    const id = await queue({ text: 'again' });
    await running.loop.settle();
    expect(await read(id)).toMatchObject({ state: 'rejected', lastError: 'license_inactive' });
    await running.sandbox('DELETE', '/faults');
    expect(await running.connector('POST', `/v1/outbound/${id}/retry`)).toMatchObject({
      id,
      state: 'queued',
    });
    await running.loop.settle();
    expect(await read(id)).toMatchObject({ state: 'sent', attempts: 2 });
    await expect(running.connector('POST', `/v1/outbound/${id}/retry`)).rejects.toThrow(
      /409: .*not_retryable/,
    );
    expect((await received()).filter(({ text }) => text === 'again')).toHaveLength(1);
  });

  it('can list the sends to a number, in any spelling', async () => {
    const ids = [await queue({ text: 'to him' }), await queue({ to: '5511987654321', text: 'to her' })];
    const found = async (to: string) => {
      const path = `/v1/outbound?connectionId=${connectionId}&to=${encodeURIComponent(to)}`;
      return (await running.connector<{ outbound: Outbound[] }>('GET', path)).outbound.map(({ id }) => id);
    };
    expect(await found(PHONE)).toEqual([ids[0]]);
    // Without the ninth digit, it is the same number of Brazil.
    expect(await found('+55 11 8765-4321')).toEqual([ids[1]]);
    expect(await found('447700900202')).toEqual([]);
    await expect(found('')).rejects.toThrow(/400/);
    const everywhere = running.connector('GET', `/v1/outbound?to=${PHONE}`);
    await expect(everywhere).rejects.toThrow(/400: .*connectionId: is needed with `to`/);
  });

  it('can list sends newest first in pages, by state and connection', async () => {
    await refuseSends(422, 'recipient_not_on_whatsapp');
    const ids: string[] = [];
    for (const text of ['1', '2', '3']) ids.push(await queue({ text }));
    await running.loop.settle();
    const shown: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await running.connector<{ outbound: Outbound[]; nextCursor: string | null }>(
        'GET',
        `/v1/outbound?state=rejected&connectionId=${connectionId}&limit=2${cursor}`,
      );
      shown.push(...page.outbound.map(({ id }) => id));
      if (page.nextCursor === null) break;
      cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
    }
    expect(new Set(shown)).toEqual(new Set(ids));
    expect(shown).toHaveLength(3);
  });
});
