import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { listMessagesAnswer, sendMessageAnswer } from '../../../src/contract/service/messages.ts';
import { createCallEdge } from '../../../src/sandbox/faults/around-calls.ts';
import type { Fault } from '../../../src/sandbox/faults/fault.ts';
import { createMuteDatabase } from '../../support/mute-database.ts';
import { ofFile } from '../../support/of-file.ts';
import { readExactly, seedWorkspace, startTestPlatform, toldOf } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const DAY = 86_400_000;
const MEBIBYTE = 1024 * 1024;
const FILE = randomBytes(1_000_001);
const SHA256 = createHash('sha256').update(FILE).digest('hex');
const media = { filename: 'tide table.pdf', mimetype: 'application/pdf', data: FILE.toString('base64') };
let nextPhone = 4915300000000;
const newPhone = (): string => String(nextPhone++);

describe('media', () => {
  const service = ofFile(() =>
    startTestPlatform({
      ports: { ...edge, onCall: () => onCall?.() },
      wrapDatabase(database) {
        muted = createMuteDatabase(database);
        return muted.database;
      },
    }),
  );
  let faults: Fault[] = [];
  const edge = createCallEdge({ api: { decide: () => faults }, oauth: { decide: () => [] } });
  let onCall: (() => void) | undefined;
  let muted: ReturnType<typeof createMuteDatabase>;

  const send = (key: string, body: object | string) => service.call('POST', '/messages', { key, body });
  const list = async (key: string) =>
    readExactly(listMessagesAnswer, (await service.call('GET', '/messages', { key })).body).messages;
  const fetchFile = (url: string | null, init?: RequestInit) => fetch(url ?? 'http://nowhere.invalid', init);
  const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());
  const pieces = async () =>
    (await service.database.query<{ media_id: string }>('SELECT media_id FROM platform.media_bytes')).map(
      (row) => row.media_id,
    );
  const filesOfMessages = () => service.database.query('SELECT id FROM platform.media');

  /** Runs `work`, during which the bytes that no message needs cannot be deleted. */
  async function withoutDiscard<T>(work: () => Promise<T>): Promise<T> {
    const heard = muted.mute('delete from platform.media_bytes');
    const working = work();
    await heard;
    muted.speak();
    muted.giveUp();
    return working;
  }

  async function seed() {
    return { ...(await seedWorkspace(service)), to: newPhone() };
  }

  describe('in a send', () => {
    it('returns the network id under both names, is stored, and reaches the phone unchanged', async () => {
      proves('messages.send.media', 'messages.send.wa-media', 'messages.item.mediaUrl');
      proves('messages.item.mediaType');
      proves('choice.wa-ids');
      const { key, connectionId, to } = await seed();
      const answer = await send(key, {
        connectionId,
        to,
        media: { ...media, caption: 'High water at nine' },
      });
      const sent = readExactly(sendMessageAnswer, answer.body);
      expect(Object.keys(sent).sort()).toEqual(['messageId', 'status', 'waMessageId', 'wa_message_id']);
      expect(sent.wa_message_id).toBe(sent.waMessageId);
      expect(await service.platform.contacts.received(to)).toMatchObject([
        {
          messageId: sent.messageId,
          text: null,
          media: {
            filename: 'tide table.pdf',
            mimetype: 'application/pdf',
            caption: 'High water at nine',
            bytes: FILE.length,
            sha256: SHA256,
            voiceNote: false,
          },
        },
      ]);
      const [stored] = await list(key);
      expect(stored).toMatchObject({
        id: sent.messageId,
        direction: 'outgoing',
        text: 'High water at nine',
        mediaType: 'application/pdf',
        status: 'sent',
      });
      expect(await bytesOf(await fetchFile(stored?.mediaUrl ?? null))).toEqual(FILE);
      expect((await toldOf(service, connectionId)).map((entry) => entry.event)).toEqual(['message.status']);
    });

    it('has no text without a caption, as with an empty one', async () => {
      proves('media.caption');
      const { key, connectionId, to } = await seed();
      for (const caption of [undefined, '']) {
        expect((await send(key, { connectionId, to, media: { ...media, caption } })).status).toBe(200);
      }
      expect((await list(key)).map(({ text }) => text)).toEqual([null, null]);
    });

    it('is a voice note as audio/ogg under a name like voice-*.ogg', async () => {
      proves('media.voice-note');
      const { key, connectionId, to } = await seed();
      const named = [
        ['voice-1.ogg', 'audio/ogg', true],
        ['voice-1.ogg', 'audio/ogg; codecs=opus', true],
        ['song.ogg', 'audio/ogg', false],
        ['voice-1.ogg', 'audio/mpeg', false],
      ] as const;
      for (const [filename, mimetype] of named) {
        const answer = await send(key, { connectionId, to, media: { filename, mimetype, data: 'T2dnUw==' } });
        expect(answer.status).toBe(200);
      }
      const received = await service.platform.contacts.received(to);
      expect(received.map((message) => message.media?.voiceNote)).toEqual(named.map(([, , voice]) => voice));
    });

    it.each([
      ['media.filename', { filename: 'nul \0' }],
      ['media.filename', { filename: 'line\r\nbreak.txt' }],
      ['media.filename', { filename: 'half \ud83d.txt' }],
      ['media.mimetype', { mimetype: 'pdf' }],
      ['media.mimetype', { mimetype: 'text/html\r\nX-Injected: 1' }],
      ['media.caption', { caption: 'nul \0' }],
    ])('is refused for an invalid %s, which is named: %j', async (field, change) => {
      proves('media.filename', 'media.mimetype', 'media.caption');
      const { key, connectionId, to } = await seed();
      const small = { filename: 'a.txt', mimetype: 'text/plain', data: 'QUJD' };
      const answer = await send(key, { connectionId, to, media: { ...small, ...change } });
      expect([answer.status, answer.body]).toMatchObject([400, { error: 'invalid_request', field }]);
      expect(await service.platform.contacts.received(to)).toEqual([]);
    });

    it('is refused with the error of the data, and only the first invalid field', async () => {
      const { key, connectionId, to } = await seed();
      const wrong = { ...media, data: 'QUJ' };
      const answer = await send(key, { connectionId, to, media: wrong });
      expect(answer.body).toMatchObject({ hint: expect.stringContaining('base64') });
      const both = await send(key, { connectionId, to: 'x', media: wrong });
      expect(both.body).toMatchObject({ field: 'to' });
    });

    it('of 16 MB of base64 is accepted, one character group more is refused, and a larger body is too large', async () => {
      proves('media.data', 'limits.media', 'choice.media.characters');
      const { key, connectionId, to } = await seed();
      const of = (characters: number) =>
        send(key, { connectionId, to, media: { ...media, data: 'A'.repeat(characters) } });
      expect((await of(16 * MEBIBYTE)).status).toBe(200);
      const over = await of(16 * MEBIBYTE + 4);
      expect([over.status, over.body]).toMatchObject([
        400,
        { error: 'invalid_request', field: 'media.data' },
      ]);
      const far = await of(17 * MEBIBYTE);
      expect([far.status, far.body]).toEqual([413, { error: 'payload_too_large' }]);
      const received = await service.platform.contacts.received(to);
      expect(received.map((message) => message.media?.bytes)).toEqual([12 * MEBIBYTE]);
    });

    it('arrives complete from clients that escape slashes, and after other fields of any length', async () => {
      const { key, connectionId, to } = await seed();
      const json = JSON.stringify({ padding: 'x'.repeat(65_533), connectionId, to, media });
      expect((await send(key, json.replaceAll('/', '\\/'))).status).toBe(200);
      expect(await service.platform.contacts.received(to)).toMatchObject([{ media: { sha256: SHA256 } }]);
    });

    it('is the last one if its key is repeated in the body', async () => {
      const { key, connectionId, to } = await seed();
      const head = `{"connectionId":"${connectionId}","to":"${to}",`;
      const body = `${head}"media":{"filename":"a","mimetype":"a/b","data":"QUJD","data":"REVG"}}`;
      expect((await send(key, body)).status).toBe(200);
      const [received] = await service.platform.contacts.received(to);
      expect(received?.media?.sha256).toBe(createHash('sha256').update('DEF').digest('hex'));
    });

    it('beside a text, or neither, is text_or_media', async () => {
      proves('messages.send.both', 'messages.send.one', 'errors.text_or_media');
      const { key, connectionId, to } = await seed();
      for (const content of [{ text: 'hello', media }, {}]) {
        const answer = await send(key, { connectionId, to, ...content });
        expect([answer.status, answer.body]).toEqual([400, { error: 'text_or_media' }]);
      }
    });

    it('with an idempotency key is sent once and has the same answer', async () => {
      const { key, connectionId, to } = await seed();
      const body = { connectionId, to, media, idempotencyKey: 'file' };
      const first = await send(key, body);
      expect((await send(key, body)).body).toEqual(first.body);
      expect(await service.platform.contacts.received(to)).toHaveLength(1);
    });

    it('that is delivered and not stored says so', async () => {
      proves('messages.send.degraded');
      const { key, connectionId, to } = await seed();
      faults = [{ type: 'not_persisted' }];
      const answer = await send(key, { connectionId, to, media });
      faults = [];
      expect([answer.status, answer.body]).toMatchObject([200, { messageId: null, persisted: false }]);
      expect(sendMessageAnswer.parse(answer.body).wa_message_id).toEqual(expect.any(String));
      expect(await service.platform.contacts.received(to)).toMatchObject([{ media: { sha256: SHA256 } }]);
      expect(await list(key)).toEqual([]);
    });

    it('leaves no bytes behind if the send fails', async () => {
      const { key, connectionId, to } = await seed();
      const nobody = newPhone();
      await service.platform.contacts.put(nobody, { onNetwork: false });
      const before = await pieces();
      const refused = [
        await send(key, { connectionId, to, media: { ...media, mimetype: 'none' } }),
        await send(key, { connectionId, to, media: { ...media, data: `${media.data}x` } }),
        await send(key, { connectionId, to, text: 'both', media }),
        await send(key, { connectionId: 'unknown', to, media }),
        await send(key, { connectionId, to: nobody, media }),
        await send(key, JSON.stringify({ connectionId, to, media }).slice(0, -1)),
      ];
      expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 404, 422, 400]);
      expect(await pieces()).toEqual(before);
    });

    it('has the answer of the send even if bytes that no message needs cannot be deleted', async () => {
      const { key, connectionId, to } = await seed();
      const body = { connectionId, to, media };
      expect((await withoutDiscard(() => send(key, body))).status).toBe(200);
      const unknown = await withoutDiscard(() => send(key, { ...body, connectionId: 'unknown' }));
      expect([unknown.status, unknown.body]).toEqual([404, { error: 'not_found' }]);
      const written = await withoutDiscard(() =>
        service.platform.messages.receiveFile(connectionId, to, media),
      );
      expect((await list(key))[0]?.id).toBe(written.messageId);
      await service.restart();
      expect(await pieces()).toHaveLength((await filesOfMessages()).length);
    });

    it('is not read from a caller without permission', async () => {
      const { connectionId, to, workspaceId } = await seed();
      const { key } = await service.platform.apiKeys.create(workspaceId, { scopes: ['messaging.read'] });
      const before = await pieces();
      const large = { ...media, data: 'A'.repeat(16 * MEBIBYTE) };
      expect((await send(key, { connectionId, to, media: large })).status).toBe(403);
      expect((await send('unknown', { connectionId, to, media: large })).status).toBe(401);
      expect(await pieces()).toEqual(before);
    });

    it('waits while four other large bodies arrive; a text does not', async () => {
      const { key, connectionId, to } = await seed();
      const head = `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Length: 900000\r\n\r\n{`;
      const stalled = Array.from({ length: 4 }, () => connect(service.port, '127.0.0.1'));
      await Promise.all(
        stalled.map((socket) => new Promise<void>((resolve) => socket.write(head, () => resolve()))),
      );
      expect((await send(key, { connectionId, to, text: 'hello' })).status).toBe(200);
      let isAnswered = false;
      const fifth = send(key, { connectionId, to, media }).finally(() => {
        isAnswered = true;
      });
      expect((await send(key, { connectionId, to, text: 'hello again' })).status).toBe(200);
      expect(isAnswered).toBe(false);
      for (const socket of stalled) socket.destroy();
      expect((await fifth).status).toBe(200);
    });

    it('leaves no bytes behind if the client disconnects during the upload', async () => {
      const { key, connectionId, to } = await seed();
      const before = await pieces();
      const recorded = new Promise<void>((resolve) => {
        onCall = resolve;
      });
      const body = JSON.stringify({ connectionId, to, media });
      const socket = connect(service.port, '127.0.0.1');
      socket.write(
        `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      socket.write(body.slice(0, 900_000), () => socket.destroy());
      await recorded;
      onCall = undefined;
      expect(await pieces()).toEqual(before);
      expect(await service.platform.contacts.received(to)).toEqual([]);
    });
  });

  describe('from a person', () => {
    const file = { filename: 'photo.jpg', mimetype: 'image/jpeg', data: FILE.toString('base64') };

    it('is reported with its URL and type, and listed with the same', async () => {
      proves('events.received.media', 'events.received.fires', 'messages.item.mediaUrl');
      const { key, connectionId } = await seed();
      const from = newPhone();
      const { messageId } = await service.platform.messages.receiveFile(connectionId, from, {
        ...file,
        caption: 'Look',
      });
      const [stored] = await list(key);
      expect(stored).toMatchObject({
        id: messageId,
        direction: 'incoming',
        text: 'Look',
        mediaType: 'image/jpeg',
      });
      const [event] = await toldOf(service, connectionId);
      expect(event?.payload).toMatchObject({
        event: 'message.received',
        message: { id: messageId, from, text: 'Look', media_url: stored?.mediaUrl, media_type: 'image/jpeg' },
      });
      expect(await bytesOf(await fetchFile(stored?.mediaUrl ?? null))).toEqual(FILE);
    });

    it('without a caption has no text', async () => {
      proves('events.received.text-null');
      const { key, connectionId } = await seed();
      await service.platform.messages.receiveFile(connectionId, newPhone(), file);
      expect((await list(key))[0]?.text).toBeNull();
      expect((await toldOf(service, connectionId))[0]?.payload).toMatchObject({ message: { text: null } });
    });

    it('has neither URL nor type for a text', async () => {
      proves('events.received.media-null');
      const { key, connectionId } = await seed();
      await service.platform.messages.receive(connectionId, { from: newPhone(), text: 'hello' });
      expect((await list(key))[0]).toMatchObject({ mediaUrl: null, mediaType: null });
      expect((await toldOf(service, connectionId))[0]?.payload).toMatchObject({
        message: { media_url: null, media_type: null },
      });
    });

    it('is refused if it is not base64 or cannot be served, and leaves nothing', async () => {
      const { connectionId } = await seed();
      const before = await pieces();
      for (const [field, given] of Object.entries({
        'media.data': { data: 'QUJ\u0141' },
        'media.mimetype': { mimetype: 'text/plain\r\nX-Injected: 1' },
      })) {
        const call = service.platform.messages.receiveFile(connectionId, newPhone(), { ...file, ...given });
        await expect(call).rejects.toMatchObject({ code: 'invalid_request', field });
      }
      const unknown = service.platform.messages.receiveFile('unknown', newPhone(), file);
      await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
      expect(await pieces()).toEqual(before);
    });
  });

  describe('at its URL', () => {
    async function served(name: { filename: string; mimetype: string }, data = media.data) {
      const seeded = await seed();
      const { connectionId, to, key } = seeded;
      expect((await send(key, { connectionId, to, media: { ...name, data } })).status).toBe(200);
      const [stored] = await list(key);
      return { ...seeded, url: stored?.mediaUrl ?? '' };
    }

    it('is outside the API, cannot be guessed and discloses nothing', async () => {
      proves('choice.media-url');
      const { url, connectionId } = await served(media);
      expect(url).toMatch(new RegExp(`^${service.origin}/media/c[0-9a-z]{24}$`));
      expect(url).not.toContain(connectionId);
    });

    it('is an attachment that no browser executes', async () => {
      proves('choice.media-url');
      const { url } = await served({ filename: 'page.html', mimetype: 'text/html' });
      const { status, headers } = await fetchFile(url);
      expect(status).toBe(200);
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': 'text/html',
        'content-disposition': `attachment; filename="page.html"; filename*=UTF-8''page.html`,
        'x-content-type-options': 'nosniff',
        'content-security-policy':
          "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; sandbox",
        'content-length': String(FILE.length),
      });
    });

    it.each([
      ['../../etc/passwd', `attachment; filename="passwd"; filename*=UTF-8''passwd`],
      ['C:\\fakepath\\a.txt', `attachment; filename="a.txt"; filename*=UTF-8''a.txt`],
      ['..', `attachment; filename="file"; filename*=UTF-8''file`],
      ['a"; filename=b', `attachment; filename="a_; filename=b"; filename*=UTF-8''a%22%3B%20filename%3Db`],
      [
        'Grüße 👋.txt',
        `attachment; filename="Gr__e __.txt"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%F0%9F%91%8B.txt`,
      ],
      ['gpj\u202e.exe', `attachment; filename="gpj.exe"; filename*=UTF-8''gpj.exe`],
    ])('has a safe file name: %j', async (filename, header) => {
      const { url } = await served({ filename, mimetype: 'text/plain' }, 'QUJD');
      expect((await fetchFile(url)).headers.get('content-disposition')).toBe(header);
    });

    it('that cannot be read has the error alone', async () => {
      const { key, connectionId, to } = await seed();
      await send(key, { connectionId, to, media });
      const [message] = await list(key);
      const heard = muted.mute('from platform.media_bytes');
      const fetching = fetchFile(message?.mediaUrl ?? null);
      await heard;
      muted.speak();
      muted.giveUp();
      const answer = await fetching;
      expect([answer.status, await answer.json()]).toEqual([500, { error: 'internal_error' }]);
      expect(answer.headers.get('content-type')).toContain('application/json');
      expect(answer.headers.get('content-disposition')).toBeNull();
    });

    it('answers HEAD without the bytes, and only GET and HEAD', async () => {
      const { url } = await served(media);
      const head = await fetchFile(url, { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(FILE.length)]);
      const wrong = await fetchFile(url, { method: 'DELETE' });
      expect([wrong.status, wrong.headers.get('allow'), await wrong.json()]).toEqual([
        405,
        'GET, HEAD',
        { error: 'method_not_allowed' },
      ]);
    });

    it('is not found without its exact URL', async () => {
      const { connectionId } = await seed();
      for (const id of [connectionId, 'c'.padEnd(25, '0'), 'x', '%00', '%zz', '..%2f..%2fetc']) {
        const answer = await fetchFile(`${service.origin}/media/${id}`);
        expect([answer.status, await answer.json()], id).toEqual([404, { error: 'not_found' }]);
      }
    });

    it('is deleted with its connection, including its bytes', async () => {
      const { url, connectionId, key } = await served(media);
      const id = url.split('/').at(-1) ?? '';
      expect(await pieces()).toContain(id);
      expect((await service.call('DELETE', `/connections/${connectionId}`, { key })).status).toBe(200);
      expect((await fetchFile(url)).status).toBe(404);
      expect(await pieces()).not.toContain(id);
    });

    it('survives a restart, while files without a message are removed', async () => {
      const { url } = await served(media);
      await service.database.query(`INSERT INTO platform.media_bytes (media_id, bytes) VALUES ('left', 'x')`);
      await service.restart();
      expect(await pieces()).not.toContain('left');
      expect(await bytesOf(await fetchFile(url))).toEqual(FILE);
    });

    it('ends after 30 days; its type stays listed', async () => {
      const { url, key, connectionId } = await served(media);
      await service.platform.licenses.set(connectionId, {
        expiresAt: service.platform.time.now() + 60 * DAY,
      });
      await service.platform.time.advance({ ms: 30 * DAY - 1 });
      expect((await fetchFile(url, { method: 'HEAD' })).status).toBe(200);
      expect((await list(key))[0]?.mediaUrl).toBe(url);
      await service.platform.time.advance({ ms: 1 });
      expect((await fetchFile(url)).status).toBe(404);
      expect((await list(key))[0]).toMatchObject({ mediaUrl: null, mediaType: 'application/pdf' });
    });
  });
});
