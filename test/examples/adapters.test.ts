import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROFILES } from '../../packages/certify/src/receiver/profile.ts';
import { createObserver } from '../../packages/certify/src/runner/observer.ts';
import { expectConformity } from '../../packages/certify/test/expect-conformity.ts';
import { openHttpSink } from '../../src/connector/consumers/sinks/http-sink.ts';
import type { Sink } from '../../src/connector/consumers/sinks/sink.ts';
import type { Change } from '../../src/contract/connector/changes.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { callOf, createdChange } from '../connector/consumers/sinks/sink-fixtures.ts';
import { makeFolder } from '../support/make-folder.ts';
import { ROOT } from '../support/root.ts';
import { type Served, serve } from '../support/serve.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

/** The network writes many numbers of Brazil without the 9 that people dial. */
const [WRITTEN, DIALLED] = ['551187654321', '+5511987654321'];
const SECRET = 'whsec_c2VjcmV0LW9mLWEtY29uc3VtZXItMDAwMDAwMDAwMDE=';

/** A request that the CRM gets. */
interface Asked {
  readonly call: string;
  readonly body: Record<string, unknown>;
}
/** Status and body of its answer; null breaks the connection. */
type Answered = readonly [status: number, body: unknown, headers?: Record<string, string>] | null;

let folder: string;
let crm: Served;
let adapter: SpawnedCommand;
let sink: Sink;
let url: string;
let asked: Asked[];
let answerOf: (asked: Asked) => Answered;

async function start(file: string, environment: Record<string, string>): Promise<void> {
  const lines = readFileSync(join(ROOT, 'examples/adapters', file), 'utf8')
    .trimEnd()
    .split('\n');
  expect(lines.length).toBeLessThanOrEqual(200);
  const env = { CONSUMER_SECRET: SECRET, ADAPTER_DATABASE: join(folder, 'adapter.sqlite'), PORT: '0' };
  adapter = spawnCommand('node', [join(ROOT, 'examples/adapters', file)], {
    cwd: folder,
    env: { ...env, ...environment },
  });
  url = (await adapter.said(/^receiving at /)).replace('receiving at ', '');
  sink = openHttpSink({
    ...{ url, secret: SECRET, batched: true, concurrency: 50, deadlineMs: 30_000, clock: systemClock },
    namedHosts: { own: 'http://127.0.0.1:4020' },
  });
}

function inTable<Result>(work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(join(folder, 'adapter.sqlite'));
  try {
    return work(database);
  } finally {
    database.close();
  }
}

const rows = (kind: string): readonly Record<string, unknown>[] =>
  inTable((database) => database.prepare('SELECT ours, theirs, error FROM created WHERE kind = ?').all(kind));

/** Has it pass all checks. `written`: the messages that the CRM has, each as often as it has it. */
async function certify(batch: number, written: () => readonly string[]) {
  await expectConformity({
    ...{ url, secret: SECRET, profile: PROFILES['standard-webhooks'], batch },
    observer: createObserver(async () => written().map((ours) => ({ id: ours }))),
  });
}

type Call = Parameters<Sink['call']>[0];

const take = async (call: Call) => expect(await sink.call(call)).toEqual({ kind: 'taken' });

/** The first attempt is answered with 500. */
async function takeAtSecond(call: Call): Promise<void> {
  expect(await sink.call(call)).toMatchObject({ kind: 'failed', error: { code: 'http_500' } });
  await take({ ...call, attempt: 2 });
}

beforeEach(async () => {
  folder = makeFolder();
  asked = [];
  const server = createServer(async (request, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const one = { call: `${request.method} ${request.url}`, body: text === '' ? {} : JSON.parse(text) };
    asked.push(one);
    const answer = answerOf(one);
    if (answer === null) {
      response.destroy();
      return;
    }
    const [status, body, headers = {}] = answer;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  crm = await serve(server);
});
afterEach(async () => {
  await sink.close();
  await adapter.kill();
  await crm.close();
});

describe('hubspot.ts', () => {
  interface Communication {
    readonly id: string;
    readonly properties: { readonly hs_timestamp: string; readonly hs_communication_body: string };
  }
  let communications: Communication[];
  /** What was there before. */
  let contacts: { readonly id: string; readonly phone: string }[];
  /** What happens to the next request of this kind, instead of its answer. */
  let trouble: { readonly call: string; readonly answer: Answered; readonly isDone: boolean } | undefined;

  /** The last contact, and those that somebody has deleted. */
  let lastContact: number;
  let deleted: string[];

  const isBad = ({ properties }: Communication): boolean => properties.hs_communication_body.includes('bad');

  /** The answers have the form of those in HubSpot's reference. */
  function answer({ call, body }: Asked): Answered {
    const troubled = trouble?.call === call ? trouble : undefined;
    if (troubled !== undefined) trouble = undefined;
    if (troubled?.isDone === false) return troubled.answer;
    const done = ((): Answered => {
      switch (call) {
        case 'POST /crm/v3/objects/contacts/search':
          return [
            200,
            {
              total: 0,
              results: contacts.filter(({ phone }) => JSON.stringify(body).includes(`"${phone}"`)),
            },
          ];
        case 'POST /crm/v3/objects/contacts':
          return [201, { id: String(++lastContact), properties: body['properties'], archived: false }];
        case 'POST /crm/v3/objects/communications/batch/create': {
          const inputs = body['inputs'] as Communication[];
          const invalid = (message: string): Answered => [
            400,
            { status: 'error', message, category: 'VALIDATION_ERROR' },
          ];
          if (inputs.some(isBad)) return invalid('Property values were not valid');
          if (deleted.some((id) => JSON.stringify(inputs).includes(`"to":{"id":"${id}"}`)))
            return invalid('one or more associations are not valid');
          const results = inputs.map(({ properties }, index) => ({
            id: String(1_000 + communications.length + index),
            properties,
            archived: false,
          }));
          communications.push(...results);
          return [201, { status: 'COMPLETE', results: results.toReversed() }];
        }
        case 'POST /crm/v3/objects/communications/search': {
          // Two pages.
          const [first, ...more] = communications;
          return body['after'] === undefined
            ? [200, { total: communications.length, results: [first], paging: { next: { after: '1' } } }]
            : [200, { total: communications.length, results: more }];
        }
        default:
          return [404, { status: 'error', message: `unknown: ${call}` }];
      }
    })();
    return troubled === undefined ? done : troubled.answer;
  }

  const CREATE = 'POST /crm/v3/objects/communications/batch/create';
  const sizes = (): number[] =>
    asked.filter(({ call }) => call === CREATE).map(({ body }) => (body['inputs'] as unknown[]).length);
  const bodies = (): string[] => communications.map(({ properties }) => properties.hs_communication_body);
  const messages = (...texts: readonly string[]) =>
    callOf(...texts.map((text, index) => createdChange(index + 1, `m${index + 1}`, text)));

  beforeEach(async () => {
    [communications, contacts, trouble] = [[], [], undefined];
    [lastContact, deleted] = [511, []];
    answerOf = answer;
    await start('hubspot.ts', { HUBSPOT_URL: crm.url, HUBSPOT_TOKEN: 'pat-1' });
  });

  it('names a missing setting in one line', async () => {
    const program = join(ROOT, 'examples/adapters/hubspot.ts');
    const { code, stderr } = await spawnCommand('node', [program], { cwd: folder }).ended;
    expect({ code, stderr }).toEqual({ code: 2, stderr: 'set HUBSPOT_TOKEN\n' });
  });

  it('logs a batch in one request, at one contact, and nothing when it comes again', async () => {
    const all = messages(...Array.from({ length: 100 }, (_, index) => `<Hello> ${index}`));
    await take(all);
    await take({ ...all, attempt: 2 });
    expect(sizes()).toEqual([100]);
    expect(
      asked.filter(({ call }) => call === 'POST /crm/v3/objects/contacts').map(({ body }) => body),
    ).toEqual([{ properties: { phone: '+15551234567' } }]);
    const [first] = (asked.at(-1)?.body['inputs'] ?? []) as readonly unknown[];
    expect(first).toEqual({
      properties: {
        hs_timestamp: '2026-01-15T12:00:00.000Z',
        hs_communication_channel_type: 'WHATS_APP',
        hs_communication_logged_from: 'CRM',
        hs_communication_body: 'Sent: &#60;Hello&#62; 0',
      },
      associations: [
        { to: { id: '512' }, types: [{ associationCategory: 'HUBSPOT_DEFINED', associationTypeId: 81 }] },
      ],
    });
    // The order of the results is not that of the inputs.
    expect(rows('communication').find(({ ours }) => ours === 'm1')).toMatchObject({ theirs: '1000' });
  });

  it('logs at the contact that was there before, although its number is spelled differently', async () => {
    contacts = [{ id: '7', phone: DIALLED }];
    await take(callOf(createdChange(1, 'm1', 'Oi', WRITTEN)));
    expect(asked.at(-1)?.body['inputs']).toMatchObject([{ associations: [{ to: { id: '7' } }] }]);
  });

  it('finds the message that HubSpot refuses by halving, logs the others, and does not try it again', async () => {
    const all = messages('1', '2', '3', '4', 'bad', '6', '7');
    await take(all);
    expect(sizes()).toEqual([7, 4, 3, 2, 1, 1, 1]);
    expect(bodies()).toEqual(['1', '2', '3', '4', '6', '7'].map((text) => `Sent: ${text}`));
    expect(rows('communication').filter(({ error }) => error !== null)).toEqual([
      { ours: 'm5', theirs: null, error: 'Property values were not valid' },
    ]);
    await take({ ...all, attempt: 2 });
    expect(sizes()).toHaveLength(7);
  });

  it('logs at a new contact when somebody has deleted the old one', async () => {
    await take(messages('1'));
    deleted = ['512'];
    const all = messages('1', '2', '3');
    await takeAtSecond(all);
    expect(bodies()).toEqual(['1', '2', '3'].map((text) => `Sent: ${text}`));
    expect(asked.at(-1)?.body['inputs']).toMatchObject(
      [1, 2].map(() => ({ associations: [{ to: { id: '513' } }] })),
    );
  });

  it('looks for what a lost answer may have created before it creates it', async () => {
    trouble = { call: CREATE, answer: null, isDone: true };
    const all = messages('1', '2', '3');
    await takeAtSecond(all);
    expect(communications).toHaveLength(3);
    trouble = { call: CREATE, answer: null, isDone: false };
    const more = messages('1', '2', '3', '4');
    await takeAtSecond(more);
    expect(communications).toHaveLength(4);
  });

  it.each([
    ['one page', '1', 2],
    ['two pages in turn', '2', 3],
  ])('ends a search that repeats %s, and creates nothing without it', async (_, second, searches) => {
    const pageAfter = (after: unknown) => {
      const next = { after: after === '1' ? second : '1' };
      return { total: 1, results: [], paging: { next } };
    };
    const SEARCH = 'POST /crm/v3/objects/communications/search';
    trouble = { call: CREATE, answer: null, isDone: true };
    const all = messages('1');
    expect(await sink.call(all)).toMatchObject({ kind: 'failed' });
    answerOf = (one) => (one.call === SEARCH ? [200, pageAfter(one.body['after'])] : answer(one));
    expect(await sink.call({ ...all, attempt: 2 })).toMatchObject({
      kind: 'failed',
      error: { code: 'http_500' },
    });
    expect(asked.filter(({ call }) => call === SEARCH)).toHaveLength(searches);
    expect(communications).toHaveLength(1);
  });

  it('logs a file that the connector has sent once a poll has named it', async () => {
    const change = createdChange(1, 'm1', '');
    if (change.type !== 'message.created') throw new Error('not a message');
    const sent = { ...change, data: { ...change.data, text: null, origin: 'connector' } } as const;
    const listed = {
      ...sent,
      seq: 2,
      type: 'message.updated',
      data: { ...sent.data, mediaType: 'image/png' },
    };
    await take(callOf(sent));
    await take(callOf(listed as Change));
    expect(bodies()).toEqual(['Sent: [image/png] ']);
  });

  it('has the connector wait as long as HubSpot asks for', async () => {
    const limited = { status: 'error', message: 'You have reached your ten_secondly_rolling limit.' };
    trouble = { call: CREATE, answer: [429, limited, { 'retry-after': '7' }], isDone: false };
    expect(await sink.call(messages('1'))).toMatchObject({ kind: 'unavailable', retryAfterMs: 7_000 });
    await take(messages('1'));
    // Nothing was created, so nothing is looked for.
    expect(asked.filter(({ call }) => call.endsWith('communications/search'))).toEqual([]);
  });

  it('passes certify', async () => {
    await certify(100, () => rows('communication').map(({ ours }) => String(ours)));
    // None twice.
    expect(communications).toHaveLength(rows('communication').length);
  });
});

describe('chatwoot.ts', () => {
  const API = '/api/v1/accounts/3';
  let contacts: { id: number; phone_number?: string; identifier?: string }[];
  let conversations: { id: number; contact_id: number; inbox_id: number; custom_attributes: object }[];
  let lastConversation: number;
  let posts: { conversation: number; body: Record<string, unknown> }[];
  /** Its next answer to a POST that ends like this is lost, after it was processed. */
  let lost: string | undefined;

  const isAbout = (path: string) => (contact: object) =>
    JSON.stringify(contact).includes(new URLSearchParams(path.split('?')[1]).get('q') ?? '');

  /** The answers have the form of Chatwoot's views. */
  function answer({ call, body }: Asked): Answered {
    const done = ((): Answered => {
      const path = call.replace(` ${API}/`, ' ');
      const [, conversation] = /conversations\/(\d+)\/messages$/.exec(path) ?? [];
      if (path.startsWith('GET contacts/search?q='))
        return [200, { meta: { current_page: 1 }, payload: contacts.filter(isAbout(path)) }];
      if (path === 'POST contacts') {
        if (contacts.some(({ phone_number }) => phone_number === body['phone_number']))
          return [422, { message: 'Phone number has already been taken', attributes: ['phone_number'] }];
        contacts.push({ id: 40 + contacts.length, ...body });
        return [
          200,
          { payload: { contact: contacts.at(-1), contact_inbox: { inbox: null, source_id: null } } },
        ];
      }
      if (/^GET contacts\/\d+\/conversations$/.test(path)) return [200, { payload: conversations }];
      if (path === 'POST conversations') {
        conversations.push({ id: ++lastConversation, ...body } as (typeof conversations)[number]);
        return [200, conversations.at(-1)];
      }
      if (!conversations.some(({ id }) => id === Number(conversation)))
        return [404, { error: 'Resource could not be found' }];
      const own = (): object[] =>
        posts.map(({ body: message }, index) => ({ id: 900 + index, ...message })).slice(-20);
      if (path.startsWith('GET')) return [200, { meta: {}, payload: own() }];
      if (String(body['content']).length > 150_000)
        return [422, { message: 'Content is too long (maximum is 150000 characters)' }];
      posts.push({ conversation: Number(conversation), body });
      return [200, own().at(-1)];
    })();
    if (lost === undefined || !call.startsWith('POST') || !call.endsWith(lost)) return done;
    lost = undefined;
    return null;
  }

  beforeEach(async () => {
    [contacts, conversations, posts, lost] = [[], [], [], undefined];
    lastConversation = 69;
    answerOf = answer;
    const own = { CHATWOOT_URL: crm.url, CHATWOOT_ACCOUNT_ID: '3', CHATWOOT_INBOX_ID: '5' };
    await start('chatwoot.ts', { ...own, CHATWOOT_TOKEN: 'token' });
  });

  it('writes a message into the conversation of its contact, and nothing when it comes again', async () => {
    const call = callOf(createdChange(1, 'm1', 'Hello'), createdChange(2, 'm2', 'Again'));
    await take(call);
    await take({ ...call, attempt: 2 });
    expect(contacts).toEqual([{ id: 40, name: '+15551234567', phone_number: '+15551234567' }]);
    expect(conversations).toEqual([
      {
        id: 70,
        contact_id: 40,
        inbox_id: 5,
        source_id: 'connection-1/15551234567',
        custom_attributes: { messaging_connection: 'connection-1' },
      },
    ]);
    const message = { message_type: 'outgoing', private: false };
    expect(posts).toEqual([
      { conversation: 70, body: { content: 'Hello', source_id: 'm1', ...message } },
      { conversation: 70, body: { content: 'Again', source_id: 'm2', ...message } },
    ]);
  });

  it.each([
    ['that was there before', '+15551234567', '15551234567'],
    ['whose number is spelled differently', DIALLED, WRITTEN],
  ])('uses a contact %s', async (_, phone_number, peer) => {
    contacts.push({ id: 7, phone_number });
    await take(callOf(createdChange(1, 'm1', 'Hello', peer)));
    expect(contacts).toHaveLength(1);
    expect(conversations[0]?.contact_id).toBe(7);
  });

  it('creates nothing twice, whichever answer is lost', async () => {
    for (const [index, path] of ['contacts', 'conversations', 'messages'].entries()) {
      lost = path;
      const call = callOf(createdChange(index + 1, `m${index}`, 'Hello'));
      await takeAtSecond(call);
      expect([contacts.length, conversations.length, posts.length]).toEqual([1, 1, index + 1]);
      // The next one looks for a conversation, as after its first message.
      if (path === 'contacts') {
        inTable((database) => database.exec("DELETE FROM created WHERE kind = 'conversation'"));
        conversations = [];
      }
    }
  });

  it.each(['its conversation', 'its contact, and the conversation with it'])(
    'writes into a new conversation when somebody has deleted %s',
    async (what) => {
      await take(callOf(createdChange(1, 'm1', 'Hello')));
      conversations = [];
      if (what.includes('contact')) contacts = [];
      const call = callOf(createdChange(2, 'm2', 'Again'));
      await takeAtSecond(call);
      expect([contacts.length, conversations.length]).toEqual([1, 1]);
      expect(posts.at(-1)).toMatchObject({ conversation: conversations[0]?.id, body: { content: 'Again' } });
    },
  );

  it('writes no message that was written there, and is not held back by one that is refused', async () => {
    const own = createdChange(1, 'm1', 'Written by an agent');
    if (own.type !== 'message.created') throw new Error('not a message');
    const agents = { ...own, data: { ...own.data, origin: 'connector', reference: 'chatwoot:901' } } as const;
    const long = createdChange(2, 'm2', '?'.repeat(150_001));
    await take(callOf(agents, long, createdChange(3, 'm3', 'Hello')));
    expect(posts.map(({ body }) => body['source_id'])).toEqual(['m3']);
    expect(rows('message').filter(({ error }) => error !== null)).toEqual([
      { ours: 'm2', theirs: null, error: 'Content is too long (maximum is 150000 characters)' },
    ]);
  });

  it('passes certify', async () => {
    await certify(20, () => posts.map(({ body }) => String(body['source_id'])));
    expect(contacts).toHaveLength(1);
  });
});

describe('twenty.ts', () => {
  type Made = Record<string, unknown> & { readonly id: string };
  let made: Record<'people' | 'notes' | 'noteTargets', Made[]>;
  /** The answer to the next POST of these is lost, after it was processed. */
  let lost: keyof typeof made | undefined;

  /** The answers have the form of those in Twenty's integration tests. */
  function answer({ call, body }: Asked): Answered {
    const [, method, plural, query] =
      /^(\w+) \/rest\/(people|notes|noteTargets)(?:\?(.+))?$/.exec(call) ?? [];
    if (plural === undefined)
      return [404, { statusCode: 404, messages: ['not found'], error: 'NotFoundException' }];
    const list = made[plural as keyof typeof made];
    if (method === 'GET') {
      const filter = new URLSearchParams(query).get('filter') ?? '';
      const values = [...filter.matchAll(/\[eq\]:"([^"]+)"/g)].map(([, value]) => value);
      const numberOf = ({ phones }: Made): unknown =>
        (phones as { primaryPhoneNumber?: string })?.primaryPhoneNumber;
      const found = list.filter((one) =>
        values.includes(filter.startsWith('id') ? one.id : String(numberOf(one))),
      );
      return [200, { data: { [plural]: found }, totalCount: found.length }];
    }
    const bad = (message: string): Answered => [400, { messages: [message], error: 'BadRequestException' }];
    if (list.some(({ id }) => id === body['id'])) return bad('Record already exists');
    if (JSON.stringify(body).includes('unfit')) return bad('Invalid value');
    const phones = body['phones'] as { primaryPhoneNumber: string } | undefined;
    const parsed = phones && {
      phones: { primaryPhoneNumber: phones.primaryPhoneNumber.slice(2), primaryPhoneCallingCode: '+1' },
    };
    list.push({ ...body, ...parsed } as Made);
    if (lost !== plural) return [201, { data: { created: list.at(-1) } }];
    lost = undefined;
    return null;
  }

  beforeEach(async () => {
    [made, lost] = [{ people: [], notes: [], noteTargets: [] }, undefined];
    answerOf = answer;
    await start('twenty.ts', { TWENTY_URL: crm.url, TWENTY_TOKEN: 'key' });
  });

  it('writes a message as a note of its person, and nothing when it comes again', async () => {
    const call = callOf(createdChange(1, 'm1', '1. *Hello*'), createdChange(2, 'm2', 'Again'));
    await take(call);
    await take({ ...call, attempt: 2 });
    const [person] = made.people;
    expect(made.people).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
        name: { firstName: '+15551234567', lastName: '' },
        phones: { primaryPhoneNumber: '5551234567', primaryPhoneCallingCode: '+1' },
      },
    ]);
    const title = 'Sent 2026-01-15T12:00:00.000Z';
    expect(made.notes.map(({ id: _, ...note }) => note)).toEqual([
      { title, bodyV2: { markdown: '1\\. \\*Hello\\*' } },
      { title, bodyV2: { markdown: 'Again' } },
    ]);
    expect(made.noteTargets.map(({ id: _, ...target }) => target)).toEqual(
      made.notes.map(({ id }) => ({ noteId: id, targetPersonId: person?.id })),
    );
  });

  it('uses a person who was there before, whose calling code fits', async () => {
    const person = (id: string, code: string) => ({
      id,
      phones: { primaryPhoneNumber: '5551234567', primaryPhoneCallingCode: code },
    });
    made.people.push(person('other', '+44'), person('same', '+1'));
    await take(callOf(createdChange(1, 'm1', 'Hello')));
    expect(made.people).toHaveLength(2);
    expect(made.noteTargets[0]).toMatchObject({ targetPersonId: 'same' });
  });

  it('uses a person whose number is spelled differently', async () => {
    made.people.push({
      id: 'same',
      phones: { primaryPhoneNumber: DIALLED.slice(3), primaryPhoneCallingCode: '+55' },
    });
    await take(callOf(createdChange(1, 'm1', 'Oi', WRITTEN)));
    expect(made.noteTargets[0]).toMatchObject({ targetPersonId: 'same' });
  });

  it.each(['people', 'notes', 'noteTargets'] as const)(
    'creates nothing twice if an answer about %s is lost',
    async (plural) => {
      lost = plural;
      const call = callOf(createdChange(1, 'm1', 'Hello'));
      await takeAtSecond(call);
      expect([made.people.length, made.notes.length, made.noteTargets.length]).toEqual([1, 1, 1]);
    },
  );

  it('creates nothing twice if its table is lost', async () => {
    const call = callOf(createdChange(1, 'm1', 'Hello'));
    await sink.call(call);
    inTable((database) => database.exec('DELETE FROM created'));
    await take({ ...call, attempt: 2 });
    expect([made.people.length, made.notes.length, made.noteTargets.length]).toEqual([1, 1, 1]);
    expect(rows('message')).toMatchObject([{ ours: 'm1', error: null }]);
  });

  it('is not held back by a message that is refused', async () => {
    await take(callOf(createdChange(1, 'm1', 'unfit'), createdChange(2, 'm2', 'Hello')));
    expect(made.notes).toHaveLength(1);
    expect(rows('message')).toContainEqual({ ours: 'm1', theirs: null, error: 'Invalid value' });
  });

  it('passes certify', async () => {
    await certify(20, () => rows('message').map(({ ours }) => String(ours)));
    expect(made.noteTargets).toHaveLength(made.notes.length);
    expect(made.people).toHaveLength(1);
  });
});
