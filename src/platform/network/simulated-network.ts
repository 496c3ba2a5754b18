import { z } from 'zod';
import { messageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { TimerHandler } from '../time/timer-runner.ts';
import { readBehaviour } from './contacts.ts';
import { passInbound } from './hold-reports.ts';
import { type NetworkReports, newNetworkId, type PhoneNetwork } from './network.ts';
import { planReceipts } from './plan-receipts.ts';
import { networkSessions } from './sessions.ts';

interface Options {
  readonly database: Queryable;
  readonly clock: DomainClock;
  /** Draws in [0, 1). */
  readonly random: () => number;
}

const receiptTimer = z.object({ messageId: z.string(), status: messageStatus, at: z.number() });
const replyTimer = z.object({ connectionId: z.string(), from: z.string(), text: z.string() });

async function readAccepted(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, { waMessageId: string }>> {
  const rows = await db.query<{ message_id: string; wa_message_id: string }>(
    'SELECT message_id, wa_message_id FROM platform.phone_messages WHERE message_id = ANY($1::text[])',
    [ids],
  );
  return new Map(rows.map((row) => [row.message_id, { waMessageId: row.wa_message_id }]));
}

/** The network with people behind it: contacts that receive, read, fail and answer as they were told to. */
export function createSimulatedNetwork({ database, clock, random }: Options): PhoneNetwork {
  return {
    sessions: networkSessions,
    passInbound,

    async isRegistered(phone) {
      const { onNetwork } = await readBehaviour(database, phone);
      return onNetwork;
    },

    async accept({ messageId, connectionId, from, to, text, media }) {
      const waMessageId = newNetworkId();
      const rows = await database.query(
        `WITH file AS (
           INSERT INTO platform.media (id, filename, mimetype, bytes, sha256, created_at)
           SELECT $8::text, $9, $10, $11::int, $12::bytea, $7::bigint WHERE $8::text IS NOT NULL
           ON CONFLICT (id) DO NOTHING)
         INSERT INTO platform.phone_messages
           (message_id, phone, connection_id, sender, text, wa_message_id, at, media_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (message_id) DO NOTHING RETURNING message_id`,
        [
          messageId,
          to,
          connectionId,
          from,
          text,
          waMessageId,
          clock.now(),
          media?.id ?? null,
          media?.filename ?? null,
          media?.mimetype ?? null,
          media?.bytes ?? null,
          media?.sha256 ?? null,
        ],
      );
      if (rows.length > 0) return { waMessageId };
      return (await readAccepted(database, [messageId])).get(messageId) ?? { waMessageId: null };
    },

    findAccepted: (ids) => readAccepted(database, ids),

    async followReceipts(change, message) {
      const behaviour = await readBehaviour(change.tx, message.to);
      const { receipts, reply } = planReceipts(behaviour, change.now, random());
      const timers = receipts.map(({ status, at, reportedAt }) => ({
        kind: `receipt.${status}`,
        dueAt: reportedAt,
        payload: { messageId: message.messageId, status, at },
      }));
      if (reply === null) return change.schedule(timers);
      const { connectionId, to: from } = message;
      const payload = { connectionId, from, text: reply.text };
      return change.schedule([...timers, { kind: 'contact.reply', dueAt: reply.at, payload }]);
    },
  };
}

/** What the simulated network's timers do: they report. */
export function networkTimers(reports: NetworkReports): Readonly<Record<string, TimerHandler>> {
  const receipts: TimerHandler = {
    fire: (change, timers) =>
      reports.receipts(
        change,
        timers.map(({ payload, at }) => ({ ...receiptTimer.parse(payload), reportedAt: at })),
      ),
  };
  const reply: TimerHandler = {
    alone: true,
    async fire(change, timers) {
      for (const { payload, at } of timers) {
        await reports.inbound(change, { ...replyTimer.parse(payload), at });
      }
    },
  };
  return {
    'receipt.sent': receipts,
    'receipt.delivered': receipts,
    'receipt.read': receipts,
    'receipt.failed': receipts,
    'contact.reply': reply,
  };
}
