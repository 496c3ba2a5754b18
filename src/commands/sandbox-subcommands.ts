import { givenFields } from '../contract/schema/given-fields.ts';
import { UsageError } from './command-line.ts';
import { describeReset, describeService } from './describe-loop.ts';
import { FAULTS } from './fault-subcommand.ts';
import { LISTS } from './list-subcommands.ts';
import { RECORD } from './record-subcommand.ts';
import { advanceOf, readConnection, readNumber, readText, type Subcommand, table } from './subcommand.ts';

/** The value at `a.0.b`, as text. */
function readField(json: unknown, path: string): string {
  let value = json;
  for (const key of path.split('.')) {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    if (!isThere) throw new Error(`The response has no field "${path}": ${JSON.stringify(json)}`);
    value = Reflect.get(value as object, key);
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `Name: value` as a header. */
function readHeader(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) return undefined;
  const [, name, value] = /^([^:]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(`--header must be "Name: value", not "${text}".`);
  }
  return { [name.trim()]: value };
}

/** What a phone blocks, in words. */
function blocks(numbers: readonly string[]): string[] {
  return numbers.length === 0 ? [] : [`blocks ${numbers.join(' ')}`];
}

/** The subcommands of `sandbox` by name, in the order of its help. `<connection>` is an id, a phone number or a label. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  info: {
    words: '[field]',
    summary: 'prints the addresses and the API key, or one field: apiKey, workspaceId, baseUrl, …',
    async run({ call, optional }) {
      const json = await call('getInfo');
      const field = optional('field');
      if (field === undefined)
        return { json, text: `${describeService(json).trimEnd()}\ntime        ${json.now}` };
      const known = Object.entries(json);
      const [, value] = known.find(([name]) => name === field) ?? [];
      if (value !== undefined) return { json, text: String(value ?? '') };
      throw new UsageError(
        `There is no field "${field}". The fields are ${known.map(([name]) => name).join(', ')}.`,
      );
    },
  },
  id: {
    words: '<connection>',
    summary: 'prints the id of a connection.',
    async run({ call, word }) {
      const id = await readConnection(call, word('connection'));
      return { json: { id }, text: id };
    },
  },
  connections: LISTS.connections,
  connection: {
    words: '<connection>',
    summary:
      'shows a connection: its license, warm-up and phone, and every change of its status with the cause.',
    async run({ call, word }) {
      const id = await readConnection(call, word('connection'));
      const json = await call('readConnection', { params: { id } });
      const { license, warmup, phone } = json;
      const facts = [
        ['id', json.id],
        ['workspace', json.workspaceId],
        ['label', json.label],
        ['number', json.phoneNumber ?? 'none, not paired yet'],
        ['provider', json.provider],
        ['status', json.needsReconnect ? `${json.status}, must be paired again` : json.status],
        ['outage', json.outage ?? 'none'],
        ['license', license.expiresAt === null ? license.status : `${license.status}, ${license.expiresAt}`],
        ['slot', json.hasSlot ? 'yes' : 'no'],
        [
          'warm-up',
          warmup === null
            ? 'none'
            : `${warmup.sentLastHour} of ${warmup.perHour} sent in the last hour, until ${warmup.endsAt}`,
        ],
        ['phone', phone === null ? 'none' : [phone.on ? 'on' : 'off', ...blocks(phone.blocked)].join(', ')],
      ];
      const changes = json.transitions.map(({ at, from, to, cause, reason, event }) => [
        at,
        `${from ?? 'none'} -> ${to}`,
        cause,
        reason,
        event,
      ]);
      return { json, text: `${table(facts, '')}\n\n${table(changes, 'no changes')}` };
    },
  },
  workspace: {
    words: '[kind]',
    summary: 'creates a workspace, standalone (default) or crm_portal, and prints its id.',
    async run({ call, optional }) {
      const json = await call('createWorkspace', { body: { kind: optional('kind') ?? 'standalone' } });
      return { json, text: json.workspace.id };
    },
  },
  key: {
    words: '<workspace>',
    summary: 'creates an API key with all scopes for a workspace, and prints it.',
    async run({ call, word }) {
      const json = await call('createApiKey', { params: { id: word('workspace') } });
      return { json, text: json.key };
    },
  },
  pair: {
    words: '<number> [label]',
    summary: 'adds a connection that is already paired, and prints its id.',
    options: {
      workspace: {
        type: 'string',
        value: 'ID',
        description: 'workspace of the connection (default: that of the API key)',
      },
    },
    async run({ call, word, optional, options }) {
      const id = readText(options, 'workspace') ?? (await call('getInfo')).workspaceId;
      const label = optional('label');
      const json = await call('addConnection', {
        params: { id },
        body: { provider: 'qr', phoneNumber: word('number'), ...givenFields({ label }) },
      });
      return { json, text: json.connection.id };
    },
  },
  scan: {
    words: '<connection> [number]',
    summary: "scans the current QR code with the owner's phone.",
    async run({ call, word, optional }) {
      const id = await readConnection(call, word('connection'));
      const json = await call('scan', {
        params: { id },
        body: givenFields({ phoneNumber: optional('number') }),
      });
      return { json, text: 'paired' };
    },
  },
  'enter-code': {
    words: '<connection> <code>',
    summary: "types the pairing code on the owner's phone.",
    async run({ call, word }) {
      const id = await readConnection(call, word('connection'));
      const json = await call('enterCode', { params: { id }, body: { code: word('code') } });
      return { json, text: 'paired' };
    },
  },
  say: {
    words: '<connection> <from> <text...>',
    summary: 'sends a message from the contact with the number <from>, and prints its id.',
    options: { times: { type: 'string', value: 'N', description: 'number of messages, sent together' } },
    async run({ call, word, options }) {
      const times = readNumber(options['times'], '--times');
      const connectionId = await readConnection(call, word('connection'));
      const json = await call('contactWrites', {
        params: { phone: word('from') },
        body: { connectionId, text: word('text'), ...givenFields({ times }) },
      });
      return { json, text: json.messageId };
    },
  },
  received: LISTS.received,
  outage: {
    words: '<connection> [cause]',
    summary:
      'breaks a connection: session_lost (default), phone_off, session_ageing, opened_elsewhere, zombie.',
    async run({ call, word, optional }) {
      const id = await readConnection(call, word('connection'));
      const body = { cause: optional('cause') ?? 'session_lost' };
      const json = await call('causeOutage', { params: { id }, body });
      return { json, text: 'broken; the service detects it later (advance the time)' };
    },
  },
  recover: {
    words: '<connection>',
    summary: 'ends an outage of a connection.',
    async run({ call, word }) {
      const id = await readConnection(call, word('connection'));
      return { json: await call('recover', { params: { id } }), text: 'recovered' };
    },
  },
  advance: {
    words: '<time>',
    summary: 'advances virtual time by 500ms, 30s, 5m, 2h or 7d, or to a date-time; prints what was due.',
    async run({ call, word }) {
      const json = await call('advanceClock', { body: advanceOf(word('time')) });
      const fired = json.fired.map(({ at, what, id }) => [at, what, id]);
      return { json, text: `${table([[json.now, 'now', ''], ...fired], '')}` };
    },
  },
  timing: {
    words: '[scale]',
    summary: 'shows or sets the duration of sends: 1 is real time, 0 is no delay.',
    async run({ call, optional }) {
      const scale = optional('scale');
      const body = { sendScale: readNumber(scale, '[scale]') };
      const json = scale === undefined ? await call('getTiming') : await call('setTiming', { body });
      return { json, text: `sends take ${json.sendScale} × their real time` };
    },
  },
  faults: FAULTS,
  deliveries: LISTS.deliveries,
  copy: {
    words: '<delivery>',
    summary: 'sends a copy of a delivery, changed and signed with the current secret, and prints its id.',
    options: {
      body: { type: 'string', value: 'TEXT', description: 'body to send (default: that of the delivery)' },
      header: { type: 'string', value: 'HEADER', description: 'header to add or replace, as "Name: value"' },
    },
    async run({ call, word, options }) {
      const body = givenFields({
        body: readText(options, 'body'),
        headers: readHeader(readText(options, 'header')),
      });
      const json = await call('copyDelivery', { params: { id: word('delivery') }, body });
      return { json, text: json.id };
    },
  },
  'explain-signature': {
    words: '<delivery>',
    summary:
      'compares a signature that your server computed with the one that was sent, and names the mistake.',
    options: {
      signature: { type: 'string', value: 'TEXT', description: 'the signature that your server computed' },
      timestamp: { type: 'string', value: 'TEXT', description: 'the timestamp that it used, if different' },
      body: { type: 'string', value: 'TEXT', description: 'the body that it used, if different' },
    },
    async run({ call, word, options }) {
      const signature = readText(options, 'signature');
      if (signature === undefined)
        throw new UsageError('--signature is missing: the one that your server computed.');
      const given = givenFields({
        timestamp: readText(options, 'timestamp'),
        body: readText(options, 'body'),
      });
      const json = await call('explainSignature', {
        params: { id: word('delivery') },
        body: { signature, ...given },
      });
      const { matches, expected, cause, furtherCauses = [], firstDifference: first } = json;
      const causes = [cause ?? [], furtherCauses].flat();
      const rows = [
        ['matches', matches ? 'yes' : 'no'],
        ['sent', expected],
        ...(first === undefined
          ? []
          : [['differs', `at character ${first.index}: "${first.expected}", not "${first.actual}"`]]),
        ...(causes.length === 0 ? [] : [['cause', causes.join(', ')]]),
      ];
      return { json, text: `${table(rows, '')}\n${json.explanation}` };
    },
  },
  wait: {
    words: '<list> [filter...]',
    summary:
      'waits until an entry of deliveries, calls, messages or connections matches a filter; exit code 1 if none does.',
    options: {
      count: { type: 'string', value: 'N', description: 'how many must match (default 1)' },
      timeout: { type: 'string', value: 'MS', description: 'longest wait in milliseconds (default 5000)' },
    },
    async run({ call, word, optional, options }) {
      const given = {
        q: optional('filter'),
        count: readNumber(options['count'], '--count'),
        timeoutMs: readNumber(options['timeout'], '--timeout'),
      };
      const json = await call('wait', { body: { list: word('list'), ...givenFields(given) } });
      return { json, text: json.explanation, failed: !json.holds };
    },
  },
  verify: {
    words: '<list> <expected...>',
    summary:
      'compares deliveries, calls or messages with filters separated by "then", oldest first; exit code 1 if they differ.',
    options: {
      q: { type: 'string', value: 'FILTER', description: 'examine only entries that match' },
      'any-order': { type: 'boolean', description: 'accept them in any order' },
      only: { type: 'boolean', description: 'accept no other entries' },
    },
    async run({ call, word, options }) {
      const expected = word('expected').split(/(?:^| )then(?: |$)/);
      const json = await call('verify', {
        body: {
          list: word('list'),
          expected: expected.map((q) => ({ q })),
          ...givenFields({ q: readText(options, 'q') }),
          anyOrder: options['any-order'] === true,
          only: options['only'] === true,
        },
      });
      return { json, text: json.explanation, failed: !json.holds };
    },
  },
  call: {
    words: '<method> <path> [body]',
    summary: 'calls /service, /connector or /sandbox/v1 with a JSON body, and prints the response.',
    options: {
      field: {
        type: 'string',
        value: 'NAMES',
        description:
          'print only these fields of the response, such as connection.id, or entries.0.id,nextCursor',
      },
      workspace: {
        type: 'string',
        value: 'ID',
        description: 'workspace whose API key /service uses (default: that of the API key)',
      },
    },
    async run({ callPort, word, optional, options }) {
      const path = word('path');
      if (!path.startsWith('/')) throw new UsageError(`<path> must begin with a slash, not "${path}".`);
      const given = givenFields({ body: optional('body'), workspaceId: readText(options, 'workspace') });
      const json = await callPort({ method: word('method').toUpperCase(), path, ...given });
      const fields = readText(options, 'field')?.split(',');
      const text = fields?.map((field) => readField(json, field)).join(' ') ?? JSON.stringify(json);
      return { json, text };
    },
  },
  calls: LISTS.calls,
  messages: LISTS.messages,
  contacts: LISTS.contacts,
  workspaces: LISTS.workspaces,
  webhooks: LISTS.webhooks,
  record: RECORD,
  tunnel: {
    words: '<host> <target>',
    summary: 'forwards a public host to a program on this machine, for example http://127.0.0.1:3000.',
    async run({ call, word }) {
      const json = await call('putHost', {
        params: { host: word('host') },
        body: { target: word('target') },
      });
      return { json, text: `https://${json.host} forwards to ${json.target}` };
    },
  },
  snapshot: {
    words: '[label]',
    summary: 'saves the state of service, sandbox and attached connector, and prints the id of the snapshot.',
    async run({ call, optional }) {
      const json = await call('takeSnapshot', { body: givenFields({ label: optional('label') }) });
      return { json, text: json.id };
    },
  },
  snapshots: LISTS.snapshots,
  restore: {
    words: '<snapshot>',
    summary: 'returns to a snapshot, with the same ids, keys and virtual time.',
    async run({ call, word }) {
      const json = await call('restoreSnapshot', { params: { id: word('snapshot') }, body: {} });
      return { json, text: `restored; virtual time is ${json.now}` };
    },
  },
  reset: {
    words: '',
    summary: 'removes everything and starts over with four numbers and a new API key; the time is kept.',
    async run({ call }) {
      const json = await call('reset');
      return { json, text: describeReset(json).trimEnd() };
    },
  },
};
