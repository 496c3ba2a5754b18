import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Outbound } from '../../src/contract/connector/outbound.ts';
import type { PhoneMessage } from '../../src/contract/sandbox/contacts.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createTestDatabase } from './database.ts';
import { type Caller, createCaller, readAllMessages } from './read-lists.ts';
import { startTestService, type TestService } from './service.ts';
import { createShiftedClock, type ShiftedClock } from './shifted-clock.ts';

/** A connection and its own contacts. */
export interface SendQueue {
  readonly connectionId: string;
  readonly phones: readonly string[];
}

const PEOPLE = 3;

/** The service with its phones, and databases for both halves. */
export interface SendsWorld {
  readonly clock: ShiftedClock;
  readonly service: TestService['service'];
  readonly sandbox: Caller;
  readonly client: Caller;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly databaseUrl: string;
  readonly queues: readonly SendQueue[];
  close(): Promise<void>;
}

/** Opens a world; close it. */
export async function openSendsWorld(connections: number): Promise<SendsWorld> {
  const clock = createShiftedClock();
  const [test, database] = await Promise.all([
    startTestService({ clock }),
    createTestDatabase({ connector: true }),
  ]);
  const { service, sandbox, info } = test;
  const { baseUrl } = info;
  const made = { kind: 'standalone', slots: connections };
  const { workspace } = await sandbox<{ workspace: { id: string } }>('POST', '/workspaces', made);
  const { key: apiKey } = await sandbox<{ key: string }>('POST', `/workspaces/${workspace.id}/api-keys`, {});
  const queues: SendQueue[] = [];
  for (let number = 0; number < connections; number += 1) {
    const phones = Array.from({ length: PEOPLE }, (_, index) =>
      String(447_700_901_000 + PEOPLE * number + index),
    );
    for (const phone of phones) await sandbox('PUT', `/contacts/${phone}`, { onNetwork: true });
    const paired = { provider: 'qr', phoneNumber: String(4_915_112_346_000 + number) };
    const { connection } = await sandbox<{ connection: { id: string } }>(
      'POST',
      `/workspaces/${workspace.id}/connections`,
      paired,
    );
    queues.push({ connectionId: connection.id, phones });
  }
  const client = createCaller(baseUrl, apiKey);
  const { connections: shown } = await client<{ connections: { id: string }[] }>('GET', '/connections');
  expect(shown.map(({ id }) => id).sort()).toEqual(queues.map(({ connectionId }) => connectionId).sort());
  return {
    clock,
    service,
    sandbox,
    client,
    baseUrl,
    apiKey,
    databaseUrl: database.url,
    queues,
    async close() {
      await test.close();
      await database.drop();
    },
  };
}

/** A text, or a file with a caption. */
export type SendKind = 'text' | 'file';

function fileOf(number: number): Buffer {
  return Buffer.from(`the file of ${number} `.repeat(40));
}

/** What the CRM posts as its send of this number; the same each time. */
export function bodyOf({ connectionId, phones }: SendQueue, number: number, kind: SendKind): object {
  const to = phones[number % PEOPLE];
  const head = { connectionId, to, reference: `r-${number}` };
  if (kind === 'text') return { ...head, text: String(number) };
  const data = fileOf(number).toString('base64');
  return { ...head, media: { filename: 'note.txt', mimetype: 'text/plain', caption: String(number), data } };
}

/** Posts as a CRM does: with its own reference, repeatedly until it is accepted. */
export async function postUntilTaken(url: string, token: string, body: object): Promise<void> {
  while (!(await postOnce(url, token, body))) await systemClock.sleep(50);
}

/** False: no answer, or one that requests a retry. Throws on any other refusal. */
async function postOnce(url: string, token: string, body: object): Promise<boolean> {
  const status = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).then(
    async (response) => {
      const read = await response.arrayBuffer().catch(() => null);
      return read === null ? null : response.status;
    },
    () => null,
  );
  if (status === null || status === 503) return false;
  if (status !== 202) throw new Error(`a send was answered with ${status}`);
  return true;
}

/** The outcomes of sends, and every violated guarantee. */
export interface SendsFound {
  readonly problems: readonly string[];
  /** By kind and state. */
  readonly counts: Readonly<Record<string, number>>;
  /** Files and texts with an unknown outcome that were in fact sent. */
  readonly unknownButArrived: number;
}

/** Compares the connector's state of each send with what the phones received and the service lists. */
export async function checkSends(
  { sandbox, client, queues }: SendsWorld,
  outbound: readonly Outbound[],
): Promise<SendsFound> {
  const problems: string[] = [];
  const counts: Record<string, number> = {};
  let unknownButArrived = 0;
  const listed = new Map(
    (await readAllMessages(client, '/messages?limit=100')).map((each) => [each.id, each]),
  );
  for (const { connectionId, phones } of queues) {
    const once = new Set<number>();
    for (const phone of phones) {
      const { entries } = await sandbox<{ entries: PhoneMessage[] }>('GET', `/contacts/${phone}/messages`);
      const received = entries.map(numberOf);
      for (const number of received) once.add(number);
      if (new Set(received).size < received.length) {
        problems.push(`${phone} received one twice: ${received.join(' ')}`);
      }
      if (received.some((number, index) => number < (received[index - 1] ?? -1))) {
        problems.push(`${phone} received out of order: ${received.join(' ')}`);
      }
      problems.push(
        ...entries.filter(isSpoilt).map((entry) => `${phone} received another file: ${numberOf(entry)}`),
      );
    }
    for (const each of outbound.filter((one) => one.connectionId === connectionId)) {
      const kind = each.media === null ? 'text' : 'file';
      counts[`${kind} ${each.state}`] = (counts[`${kind} ${each.state}`] ?? 0) + 1;
      const arrived = once.has(Number(each.text ?? each.media?.caption));
      if (each.state === 'unknown' && arrived) unknownButArrived += 1;
      const wrong = judge(each, arrived, each.messageId === null ? undefined : listed.get(each.messageId));
      if (wrong !== null) problems.push(`${each.reference}, ${kind}: ${wrong}`);
    }
  }
  return { problems, counts, unknownButArrived };
}

function judge(
  { state, connectionId, messageId }: Outbound,
  arrived: boolean,
  listed: { readonly connectionId: string } | undefined,
): string | null {
  switch (state) {
    case 'sent':
      if (!arrived) return 'sent, and not received';
      return listed?.connectionId === connectionId
        ? null
        : `sent as ${messageId}, which the service does not list`;
    case 'delivered_not_stored':
      return arrived ? null : 'delivered, and not received';
    case 'rejected':
      return arrived ? 'rejected, and received' : null;
    case 'unknown':
      return null;
    default:
      return `still ${state}`;
  }
}

function numberOf({ text, media }: PhoneMessage): number {
  return Number(media === undefined ? text : media.caption);
}

function isSpoilt(entry: PhoneMessage): boolean {
  if (entry.media === undefined) return false;
  return (
    entry.media.sha256 !==
    createHash('sha256')
      .update(fileOf(numberOf(entry)))
      .digest('hex')
  );
}
