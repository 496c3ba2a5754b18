import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { MessageFacts } from '../../../src/connector/db/facts.ts';
import { createSequencer } from '../../../src/connector/feed/sequencer.ts';
import type { MessageStatus } from '../../../src/contract/service/statuses.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { type Database, isConnectionFailure } from '../../../src/runtime/database/database.ts';
import { openPool } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';
import {
  databaseOfFile,
  delivery,
  emptyTables,
  newId,
  polled,
  readAllChanges,
  readMessages,
  received,
  silentLogger,
  status,
  T0,
} from '../support/event-fixtures.ts';

const database = databaseOfFile();
const other = ofFile(async () => openPool(database.url));

const RANK: Record<MessageStatus, number> = { sent: 1, delivered: 2, read: 3, failed: 4 };
const LADDERS = { read: ['sent', 'delivered', 'read'], failed: ['sent', 'delivered', 'failed'] } as const;

/** One message of the service: an incoming one, or an outgoing one that ends as read or as failed. */
interface Message {
  readonly connectionId: string;
  readonly id: string;
  readonly end: 'incoming' | 'read' | 'failed';
}

/** What a source tells of a message: a step of its life by webhook, or its state after that step by poll. */
interface Telling {
  readonly message: number;
  readonly step: number;
  readonly by: 'webhook' | 'poll';
}

const telling = fc.record({
  message: fc.nat(3),
  step: fc.nat(2),
  by: fc.constantFrom('webhook' as const, 'webhook' as const, 'poll' as const),
});

function toFacts({ step, by }: Telling, { connectionId, id, end }: Message): MessageFacts {
  if (end === 'incoming') {
    const facts = { text: `text of ${id}`, createdAt: T0 + 7 };
    return by === 'poll' ? polled(connectionId, id, facts) : received(connectionId, id, facts);
  }
  const reached = LADDERS[end][step] ?? 'sent';
  if (by === 'webhook') return status(connectionId, id, reached, T0 + 10 + step);
  const facts = { direction: 'outgoing' as const, text: `text of ${id}`, status: reached, createdAt: T0 + 7 };
  return polled(connectionId, id, facts);
}

/** Commits as a receiver or a poll does: what the connection lost or a race failed is tried again. */
async function write(writer: Database, facts: readonly MessageFacts[]): Promise<void> {
  const webhooks = facts.filter((fact) => fact.source === 'webhook');
  const polls = facts.filter((fact) => fact.source === 'poll');
  for (const batch of [
    { now: T0, deliveries: webhooks.map((message) => delivery({ message })) },
    { now: T0, messages: polls },
  ]) {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      try {
        await commitBatch(writer, batch);
        break;
      } catch (error) {
        if (!isConnectionFailure(error)) throw error;
      }
    }
  }
}

function expectedMessage(message: Message, tellings: readonly Telling[]): Record<string, unknown> {
  const steps = tellings.map((entry) => entry.step);
  const isPolled = tellings.some((entry) => entry.by === 'poll');
  if (message.end === 'incoming') {
    return {
      id: message.id,
      status: null,
      text: `text of ${message.id}`,
      created_at: T0 + 7,
      polled: isPolled,
    };
  }
  return {
    id: message.id,
    status: LADDERS[message.end][Math.max(...steps)],
    text: isPolled ? `text of ${message.id}` : null,
    created_at: isPolled ? T0 + 7 : T0 + 10 + Math.min(...steps),
    polled: isPolled,
    status_conflict: false,
  };
}

describe('facts in any order, repetition and batching', () => {
  it('lead to the same state, with each effect once and without a status that moves backwards in the feed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(telling, { minLength: 1, maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 10 }),
        fc.array(fc.constantFrom('incoming' as const, 'read' as const, 'failed' as const), {
          minLength: 4,
          maxLength: 4,
        }),
        async (tellings, sizes, ends) => {
          await emptyTables(database);
          const connections = [newId(), newId()];
          const messages = ends.map(
            (end, index): Message => ({ connectionId: connections[index % 2] ?? '', id: newId(), end }),
          );
          await writeConcurrently(tellings, sizes, messages);

          const numbered = createSequencer({
            database,
            clock: systemClock,
            logger: silentLogger,
            onNumbered: () => undefined,
          });
          await numbered.settle();
          await checkMessages(messages, tellings);
          await checkFeed(messages);
        },
      ),
      { numRuns: 60 },
    );
  });
});

/** Cuts the tellings into batches and lets two processes of four connections write them at once. */
async function writeConcurrently(
  tellings: readonly Telling[],
  sizes: readonly number[],
  messages: readonly Message[],
): Promise<void> {
  const facts = tellings.flatMap((entry) => {
    const message = messages[entry.message];
    return message === undefined ? [] : [toFacts(entry, message)];
  });
  const writes: Promise<void>[] = [];
  for (let at = 0, turn = 0; at < facts.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    writes.push(write(turn % 2 === 0 ? database : other, facts.slice(at, at + size)));
    at += size;
  }
  await Promise.all(writes);
}

async function checkMessages(messages: readonly Message[], tellings: readonly Telling[]): Promise<void> {
  const rows = new Map((await readMessages(database)).map((row) => [row.id, row]));
  for (const [index, message] of messages.entries()) {
    const told = tellings.filter((entry) => entry.message === index);
    if (told.length === 0) expect(rows.get(message.id)).toBeUndefined();
    else expect(rows.get(message.id)).toMatchObject(expectedMessage(message, told));
  }
}

async function checkFeed(messages: readonly Message[]): Promise<void> {
  const changes = await readAllChanges(database);
  const seqs = changes.map((change) => change.seq).sort((a, b) => (a ?? 0) - (b ?? 0));
  expect(seqs).toEqual(changes.map((_, index) => index + 1));

  const inOrder = [...changes].sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
  const rows = new Map((await readMessages(database)).map((row) => [row.id, row]));
  for (const { id } of messages) {
    const told = inOrder.filter((change) => change.message_id === id);
    const row = rows.get(id);
    if (row === undefined) continue;
    expect(told.filter((change) => change.type === 'message.created')).toHaveLength(1);
    expect(told[0]?.type).toBe('message.created');
    let reached = 0;
    let last: unknown = null;
    for (const { type, data } of told) {
      const value = data['status'] as MessageStatus | null;
      if (type === 'message.status') {
        expect(data['previous']).toBe(last);
        expect(RANK[value ?? 'sent']).toBeGreaterThan(reached);
      }
      reached = value === null ? reached : RANK[value];
      last = value ?? last;
    }
    expect(last).toBe(row.status);
    const newest = told.findLast((change) => change.type !== 'message.status');
    expect(newest?.data).toMatchObject({ text: row.text, createdAt: row.created_at });
  }
}
