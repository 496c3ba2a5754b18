import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { phoneMessageList } from '../../src/contract/sandbox/contacts.ts';
import { ofFile } from '../support/of-file.ts';
import { readExactly } from '../support/platform.ts';
import { startTestSandbox } from './fixture.ts';

const PERSON = '491700000077';
const FILE = randomBytes(500_001);
const media = { filename: 'photo.jpg', mimetype: 'image/jpeg', data: FILE.toString('base64') };

interface ServiceMessage {
  readonly id: string;
  readonly text: string;
  readonly mediaUrl: string;
  readonly mediaType: string;
}

describe('files sent by people on the network', () => {
  const test = ofFile(startTestSandbox);
  let connectionId: string;
  beforeAll(async () => {
    connectionId = await test.qrConnection();
  });

  const write = (body: object) =>
    test.call('POST', `/contacts/${PERSON}/messages`, { connectionId, ...body });
  const list = async (): Promise<ServiceMessage[]> => (await test.api('GET', '/messages')).body.messages;

  it('a file is served by the service at an address', async () => {
    const { status, body } = await write({ media: { ...media, caption: 'Look' } });
    expect(status).toBe(201);
    const [message] = await list();
    expect(message).toMatchObject({ id: body.messageId, text: 'Look', mediaType: 'image/jpeg' });
    const served = await fetch(message?.mediaUrl ?? '');
    expect(Buffer.from(await served.arrayBuffer())).toEqual(FILE);
    const { body: ledger } = await test.call('GET', '/ledger?order=newest&limit=1');
    expect(ledger.entries[0].payload.message).toMatchObject({
      id: body.messageId,
      media_url: message?.mediaUrl,
      media_type: 'image/jpeg',
    });
  });

  it('a file that is sent during an outage arrives later, complete', async () => {
    await test.call('POST', `/connections/${connectionId}/outage`, { cause: 'phone_off' });
    const { body } = await write({ media });
    expect((await list()).map(({ id }) => id)).not.toContain(body.messageId);
    await test.call('POST', `/connections/${connectionId}/recover`);
    await test.call('POST', '/clock/advance', { ms: 60_000 });
    const message = (await list()).find(({ id }) => id === body.messageId);
    const served = await fetch(message?.mediaUrl ?? '');
    expect(Buffer.from(await served.arrayBuffer())).toEqual(FILE);
  });

  it('the phone shows what it received, to be compared with what was sent', async () => {
    const sent = { connectionId, to: PERSON, media: { ...media, caption: 'Here' } };
    await test.api('POST', '/messages', sent);
    const { body } = await test.call('GET', `/contacts/${PERSON}/messages`);
    expect(readExactly(phoneMessageList, body).entries).toMatchObject([
      {
        text: null,
        media: {
          filename: 'photo.jpg',
          mimetype: 'image/jpeg',
          caption: 'Here',
          bytes: FILE.length,
          sha256: createHash('sha256').update(FILE).digest('hex'),
          voiceNote: false,
        },
      },
    ]);
  });

  it.each([
    ['text', { text: 'both', media }],
    ['text', {}],
    ['media.data', { media: { ...media, data: 'QUJ' } }],
    ['media.filename', { media: { ...media, filename: '' } }],
    ['media.size', { media: { ...media, size: 3 } }],
  ])('a file is refused with 400, which names %s', async (field, body) => {
    const answer = await write(body);
    expect([answer.status, answer.body]).toMatchObject([400, { error: 'invalid_request', field }]);
  });

  it('many messages with a text may arrive at the same moment, but no files', async () => {
    const { status, body } = await write({ connectionId, text: 'Hello', times: 101 });
    expect(status).toBe(201);
    const listed = await test.call('GET', `/messages?q=contact:${PERSON}&limit=200`);
    const hellos = listed.body.entries.filter((entry: { text: string }) => entry.text === 'Hello');
    expect(hellos).toHaveLength(101);
    expect(hellos[0].id).toBe(body.messageId);
    for (const refused of [
      { media, times: 2 },
      { text: 'Hello', times: 1001 },
      { text: 'Hello', times: 0 },
    ]) {
      const answer = await write({ connectionId, ...refused });
      expect([answer.status, answer.body]).toMatchObject([400, { error: 'invalid_request', field: 'times' }]);
    }
  });

  it('an unknown connection is answered with 404', async () => {
    expect((await write({ connectionId: 'unknown', media })).status).toBe(404);
  });
});
