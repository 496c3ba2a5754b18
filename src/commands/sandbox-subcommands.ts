import { writeFileSync } from 'node:fs';
import { ADVANCE_FORMS, type Advance, readAdvance } from '../contract/sandbox/advance.ts';
import { FAULT_ACTIONS } from '../contract/sandbox/fault-actions.ts';
import type { FaultActionType, FaultSurface } from '../contract/sandbox/faults.ts';
import { givenFields } from '../sandbox/endpoints/given-fields.ts';
import { record } from '../scenario/replay.ts';
import { writeScenario } from '../scenario/scenario.ts';
import type { CallPort, CallSandbox } from './call-sandbox.ts';
import type { CommandDefinition, CommandOptions } from './command-line.ts';
import { UsageError } from './command-line.ts';
import { describeReset, describeService } from './describe-loop.ts';

/** The input of a subcommand. */
interface Given {
  readonly call: CallSandbox;
  readonly callPort: CallPort;
  /** The required argument with this name in its usage. */
  readonly word: (name: string) => string;
  /** The same for an optional argument. */
  readonly optional: (name: string) => string | undefined;
  readonly options: CommandOptions;
}

/** The output of a subcommand: for `--json`, and as text. */
interface Answered {
  readonly json: unknown;
  readonly text: string;
  /** True ends the command with exit code 1. */
  readonly failed?: boolean;
}

/** A subcommand: it calls the control API and describes the response. */
interface Subcommand {
  /** Its arguments, as in `CommandDefinition`. */
  readonly words: string;
  readonly summary: string;
  readonly options?: CommandDefinition['options'];
  readonly run: (given: Given) => Promise<Answered>;
}

function advanceOf(text: string): Advance {
  const advance = readAdvance(text);
  if (advance === null) throw new UsageError(`"${text}" is not a time: ${ADVANCE_FORMS}.`);
  return advance;
}

function readNumber(text: unknown, what: string): number | undefined {
  if (text === undefined) return undefined;
  if (typeof text === 'string' && /^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`${what} must be a number, not "${String(text)}".`);
}

function readText(options: CommandOptions, name: string): string | undefined {
  const text = options[name];
  return typeof text === 'string' ? text : undefined;
}

const ID = /^c[a-z0-9]{24}$/;
const LONGEST_PAGE = '1000';

/**
 * The id of a connection, given its id, its phone number or its label. Of several, the newest one in the workspace of
 * the API key, or else the newest one.
 */
async function readConnection(call: CallSandbox, word: string): Promise<string> {
  if (ID.test(word)) return word;
  const isNumber = /^\d+$/.test(word);
  const query = isNumber ? { phoneNumber: word } : { limit: LONGEST_PAGE };
  const { entries } = await call('listConnections', { query });
  const { workspaceId } = await call('getInfo');
  const named = entries.filter(({ label, phoneNumber }) => (isNumber ? phoneNumber : label) === word);
  const found = named.findLast((entry) => entry.workspaceId === workspaceId) ?? named.at(-1);
  if (found === undefined)
    throw new Error(`No connection has the id, the phone number or the label "${word}".`);
  return found.id;
}

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

function readAction(word: string): FaultActionType {
  const known = [...new Set(Object.values(FAULT_ACTIONS).flat())];
  const action = known.find((name) => name === word);
  if (action === undefined) {
    throw new UsageError(`There is no fault "${word}". Use clear, or one of ${known.join(', ')}.`);
  }
  return action;
}

/** The surface that supports an action. Of several: calls if the options describe a call, otherwise webhooks. */
function surfaceOf(action: FaultActionType, options: CommandOptions): FaultSurface {
  const { webhook, api }: Readonly<Record<FaultSurface, readonly FaultActionType[]>> = FAULT_ACTIONS;
  const isCall = options['path'] !== undefined || options['method'] !== undefined;
  const named = readText(options, 'surface');
  if (named !== undefined) return named as FaultSurface;
  return webhook.includes(action) && !(isCall && api.includes(action)) ? 'webhook' : 'api';
}

function table(rows: readonly (readonly (string | number | null)[])[], none: string): string {
  const cells = rows.map((row) => row.map((cell) => String(cell ?? '-')));
  const widths = (cells[0] ?? []).map((_, place) => Math.max(...cells.map((row) => row[place]?.length ?? 0)));
  const lines = cells.map((row) => row.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join('  '));
  return lines.length === 0 ? none : lines.map((line) => line.trimEnd()).join('\n');
}

/** A delay of a contact. */
function after(ms: number | null): string {
  return ms === null ? 'never' : `after ${ms} ms`;
}

/** What a phone blocks, in words. */
function blocks(numbers: readonly string[]): string[] {
  return numbers.length === 0 ? [] : [`blocks ${numbers.join(' ')}`];
}

const LIMIT = {
  limit: { type: 'string', value: 'N', description: 'number of entries (default 10)' },
} as const;
const WORKSPACE = {
  workspace: { type: 'string', value: 'ID', description: 'only entries of this workspace' },
} as const;
const FILTER = {
  q: {
    type: 'string',
    value: 'FILTER',
    description: 'only entries that match, for example "status:dropped !type:message.status"',
  },
} as const;
const DEFAULT_LIMIT = '10';

/** The query of a list. */
function page(options: CommandOptions): { readonly query: Readonly<Record<string, string | undefined>> } {
  const workspaceId = readText(options, 'workspace');
  return {
    query: { limit: readText(options, 'limit') ?? DEFAULT_LIMIT, workspaceId, q: readText(options, 'q') },
  };
}

/** The subcommands of `sandbox` by name. `<connection>` is an id, a phone number or a label. */
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
  connections: {
    words: '',
    summary: 'lists the connections of all workspaces, oldest first.',
    options: { ...LIMIT, ...WORKSPACE, ...FILTER },
    async run({ call, options }) {
      const json = await call('listConnections', page(options));
      const rows = json.entries.map((entry) => [
        entry.id,
        entry.phoneNumber,
        entry.provider,
        entry.outage === null ? entry.status : `${entry.status}, outage ${entry.outage}`,
        `license ${entry.licenseStatus}`,
        entry.label,
      ]);
      return { json, text: table(rows, 'no connections') };
    },
  },
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
    options: { times: { type: 'string', value: 'N', description: 'how many messages arrive at once' } },
    async run({ call, word, options }) {
      const connectionId = await readConnection(call, word('connection'));
      const times = readText(options, 'times');
      const json = await call('contactWrites', {
        params: { phone: word('from') },
        body: { connectionId, text: word('text'), ...(times === undefined ? {} : { times: Number(times) }) },
      });
      return { json, text: json.messageId };
    },
  },
  received: {
    words: '<number>',
    summary: "lists the messages that a contact's phone received, oldest first.",
    options: LIMIT,
    async run({ call, word, options }) {
      const params = { phone: word('number') };
      const json = await call('listContactMessages', { params, ...page(options) });
      const rows = json.entries.map(({ at, from, messageId, text }) => [at, from, messageId, text]);
      return { json, text: table(rows, 'no messages') };
    },
  },
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
  faults: {
    words: '[action]',
    summary:
      'lists the fault rules; an action (drop, duplicate, delay, status, …) replaces them with one rule; clear removes them.',
    options: {
      surface: {
        type: 'string',
        value: 'NAME',
        description: 'webhook, api or oauth (default: the one that supports the action)',
      },
      event: { type: 'string', value: 'TYPE', description: 'only webhooks of this event' },
      connection: { type: 'string', value: 'CONNECTION', description: 'only webhooks of this connection' },
      workspace: { type: 'string', value: 'ID', description: 'only webhooks and calls of this workspace' },
      method: { type: 'string', value: 'METHOD', description: 'only calls with this method' },
      path: { type: 'string', value: 'PATH', description: 'only calls to this path; may end in *' },
      first: { type: 'string', value: 'N', description: 'only the first N that match' },
      probability: { type: 'string', value: 'P', description: 'probability for each match, 0 to 1' },
      ms: { type: 'string', value: 'N', description: 'delay, slow: milliseconds' },
      times: { type: 'string', value: 'N', description: 'duplicate: number of extra copies' },
      code: { type: 'string', value: 'N', description: 'status: HTTP status, 400 to 599' },
      error: { type: 'string', value: 'CODE', description: 'status: error code of the body' },
      'retry-after': { type: 'string', value: 'S', description: 'status: Retry-After in seconds' },
    },
    async run({ call, optional, options }) {
      const word = optional('action');
      const json = await changeFaults(call, word, options);
      const rows = json.rules.map(({ id, match, action, hits }) => [
        id,
        JSON.stringify(match),
        JSON.stringify(action),
        `${hits} hits`,
      ]);
      return { json, text: table(rows, 'no faults') };
    },
  },
  deliveries: {
    words: '',
    summary: 'lists webhook deliveries and their outcome, newest first.',
    options: { ...LIMIT, ...WORKSPACE, ...FILTER },
    async run({ call, options }) {
      const json = await call('listDeliveries', page(options));
      const rows = json.entries.map(({ id, copyOf, createdAt, event, messageId, outcome, attempts }) => [
        copyOf === undefined ? id : `${id} copy of ${copyOf}`,
        createdAt,
        event,
        messageId,
        outcome,
        attempts.map(({ status, error }) => error ?? status).join(', '),
      ]);
      return { json, text: table(rows, 'no deliveries') };
    },
  },
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
  calls: {
    words: '',
    summary: 'lists calls to the service with the check that refused them, newest first.',
    options: { ...LIMIT, ...WORKSPACE, ...FILTER },
    async run({ call, options }) {
      const json = await call('listCalls', page(options));
      const rows = json.entries.map(({ at, method, path, status, code, trace }) => [
        at,
        method,
        path,
        status ?? 'reset',
        code,
        trace.findLast(({ passed }) => !passed)?.why ?? '',
      ]);
      return { json, text: table(rows, 'no calls') };
    },
  },
  messages: {
    words: '',
    summary: 'lists the messages of all workspaces as the service stores them, newest first.',
    options: { ...LIMIT, ...FILTER },
    async run({ call, options }) {
      const json = await call('listStoredMessages', page(options));
      const rows = json.entries.map(({ createdAt, direction, peer, status, id, text, mediaType }) => [
        createdAt,
        direction,
        peer,
        status,
        id,
        text ?? mediaType,
      ]);
      return { json, text: table(rows, 'no messages') };
    },
  },
  contacts: {
    words: '',
    summary: 'lists the people whose behavior was set.',
    options: { ...LIMIT, ...FILTER },
    async run({ call, options }) {
      const json = await call('listContacts', page(options));
      const rows = json.entries.map(({ phone, onNetwork, deliverAfterMs, readAfterMs, autoReply }) => [
        phone,
        onNetwork ? `delivered ${after(deliverAfterMs)}, read ${after(readAfterMs)}` : 'not on the network',
        autoReply === null ? '' : `replies "${autoReply}"`,
      ]);
      return { json, text: table(rows, 'no contacts') };
    },
  },
  workspaces: {
    words: '',
    summary: 'lists workspaces with their slots and API keys.',
    options: LIMIT,
    async run({ call, options }) {
      const json = await call('listWorkspaces', page(options));
      const rows = json.entries.map(({ id, kind, slots, apiKeys }) => [
        id,
        kind,
        `${slots.used} of ${slots.total} slots used`,
        `${apiKeys.filter(({ revokedAt }) => revokedAt === null).length} API keys`,
      ]);
      return { json, text: table(rows, 'no workspaces') };
    },
  },
  webhooks: {
    words: '',
    summary: 'lists the webhooks of workspaces and apps with the outcome of their last deliveries.',
    options: LIMIT,
    async run({ call, options }) {
      const json = await call('listWebhooks', page(options));
      const rows = json.entries.map(({ subscription: { kind, id }, url, lastDeliveries }) => [
        `${kind} ${id}`,
        url,
        lastDeliveries.map(({ outcome }) => outcome).join(', '),
      ]);
      return { json, text: table(rows, 'no webhooks') };
    },
  },
  record: {
    words: '[file]',
    summary:
      'writes what came from outside since the last reset as a scenario, which "scenario replay" repeats.',
    options: {
      last: { type: 'string', value: 'TIME', description: 'only causes of this virtual time, such as 5m' },
    },
    async run({ callPort, optional, options }) {
      const last = readText(options, 'last');
      const advance = last === undefined ? undefined : advanceOf(last);
      if (advance !== undefined && 'to' in advance) throw new UsageError('--last must be a time such as 5m.');
      const { scenario, differences, unknownIds } = await record(callPort, advance?.ms);
      const lines = writeScenario(scenario);
      const file = optional('file');
      if (file === undefined) return { json: scenario, text: lines.trimEnd() };
      writeFileSync(file, lines);
      const { causes, observations, complete } = scenario;
      const text = [
        `${causes.length} causes and ${observations.length} observations are in ${file}`,
        ...(complete ? [] : ['earlier causes are missing, so a replay may differ: reset the sandbox first']),
        ...(unknownIds.length === 0
          ? []
          : [`the origin of these ids is not known: ${unknownIds.join(', ')}`]),
        ...differences.map(
          ({ of, field, expected, actual }) => `${of}: ${field} is ${actual}, but should be ${expected}`,
        ),
      ].join('\n');
      return { json: { file, causes: causes.length, observations: observations.length, differences }, text };
    },
  },
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
  snapshots: {
    words: '',
    summary: 'lists the snapshots, oldest first.',
    async run({ call }) {
      const json = await call('listSnapshots');
      const rows = json.entries.map(({ id, now, label }) => [id, now, label]);
      return { json, text: table(rows, 'no snapshots') };
    },
  },
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

async function changeFaults(call: CallSandbox, word: string | undefined, options: CommandOptions) {
  if (word === undefined) return await call('getFaults');
  if (word === 'clear') return await call('deleteFaults');
  const action = readAction(word);
  const connection = readText(options, 'connection');
  const number = (name: string): number | undefined => readNumber(options[name], `--${name}`);
  const text = (name: string): string | undefined => readText(options, name);
  const rule = {
    id: action,
    match: {
      surface: surfaceOf(action, options),
      ...givenFields({
        event: text('event'),
        method: text('method'),
        path: text('path'),
        workspaceId: text('workspace'),
      }),
      ...(connection === undefined ? {} : { connectionId: await readConnection(call, connection) }),
    },
    action: {
      type: action,
      ...givenFields({ ms: number('ms'), times: number('times'), code: number('code') }),
      ...givenFields({ error: text('error') }),
      ...givenFields({ retryAfter: number('retry-after') }),
    },
    ...givenFields({ first: number('first'), probability: number('probability') }),
  };
  return await call('putFaults', { body: { rules: [rule] } });
}
