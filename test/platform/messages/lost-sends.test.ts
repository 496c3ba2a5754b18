import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newIdentifier } from '../../../src/platform/kernel/identifiers.ts';
import { answerSend, claimSend, type SendClaim } from '../../../src/platform/messages/send-journal.ts';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

/** Sends whose process died are made here by writing what it had written until then. */
describe('a send whose process died', () => {
  let service: TestPlatform;
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  const to = '4915300000001';
  beforeAll(async () => {
    service = await startTestPlatform();
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    await service.platform.reset();
    seeded = await seedWorkspace(service);
  });

  async function begin(idempotencyKey: string): Promise<SendClaim> {
    const { workspaceId, connectionId } = seeded;
    const entry = { messageId: newIdentifier(), workspaceId, connectionId, to, text: 'hello', media: null };
    const claim = await claimSend(service.database, entry, idempotencyKey, service.platform.time.now());
    expect(claim).toEqual({ outcome: 'claimed' });
    return entry;
  }

  const send = async (idempotencyKey: string) =>
    service.call('POST', '/messages', {
      key: seeded.key,
      body: { connectionId: seeded.connectionId, to, text: 'hello', idempotencyKey },
    });

  test('frees its key at the next start, and was not sent', proves('choice.send-key.remembers'), async () => {
    await begin('lost');
    await service.restart();
    expect(await service.database.query('SELECT 1 FROM platform.sends')).toEqual([]);
    expect((await send('lost')).status).toBe(200);
    expect(await service.platform.contacts.received(to)).toHaveLength(1);
  });

  test('answers with expired keys are deleted at the next start', async () => {
    const entry = await begin('old');
    await answerSend(service.database, entry.messageId, {
      messageId: 'c',
      waMessageId: null,
      status: 'sent',
    });
    await service.platform.time.advance({ ms: 86_400_000 });
    await service.restart();
    expect(await service.database.query('SELECT 1 FROM platform.sends')).toEqual([]);
  });

  test('and by a later send, so that they do not accumulate', async () => {
    await send('today');
    await service.platform.time.advance({ ms: 86_400_000 });
    await send('tomorrow');
    expect(await service.database.query('SELECT 1 FROM platform.sends')).toHaveLength(1);
  });

  test('a key does not expire while its send has no answer', async () => {
    const entry = await begin('slow');
    const again = { ...entry, messageId: newIdentifier() };
    const later = service.platform.time.now() + 2 * 86_400_000;
    const claim = await claimSend(service.database, again, 'slow', later);
    expect(claim).toEqual({ outcome: 'held', same: true });
  });
});
