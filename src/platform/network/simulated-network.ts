import { z } from 'zod';
import { messageStatus } from '../../contract/service/statuses.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { phoneMessages } from '../db/network-tables.ts';
import { keepFile } from '../media/media-store.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { TimerHandler } from '../time/timer-runner.ts';
import { readBehavior } from './contacts.ts';
import { passInbound } from './hold-reports.ts';
import { type NetworkReports, newNetworkId, type PhoneNetwork } from './network.ts';
import { planReceipts } from './plan-receipts.ts';
import { simulatedSessions } from './sessions.ts';

interface Options {
  readonly database: Database;
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
  const { messageId, waMessageId } = phoneMessages;
  const rows = await orm(db)
    .select({ messageId, waMessageId })
    .from(phoneMessages)
    .where(isAnyOf(messageId, ids));
  return new Map(rows.map((row) => [row.messageId, { waMessageId: row.waMessageId }]));
}

/** A network of simulated people, who receive, read, fail and reply as their contact is configured. */
export function createSimulatedNetwork({ database, clock, random }: Options): PhoneNetwork {
  return {
    sessions: simulatedSessions,
    passInbound,

    async isRegistered(phone) {
      const { onNetwork } = await readBehavior(database, phone);
      return onNetwork;
    },

    async accept({ messageId, connectionId, from, to, text, media }) {
      const waMessageId = newNetworkId();
      const at = clock.now();
      const insert = (db: Queryable) =>
        orm(db)
          .insert(phoneMessages)
          .values({
            messageId,
            phone: to,
            connectionId,
            sender: from,
            text,
            waMessageId,
            at,
            mediaId: media?.id,
          })
          .onConflictDoNothing({ target: phoneMessages.messageId })
          .returning({ messageId: phoneMessages.messageId });
      const rows =
        media === null
          ? await insert(database)
          : await database.transaction(async (tx) => {
              await keepFile(tx, media, at);
              return await insert(tx);
            });
      if (rows.length > 0) return { waMessageId };
      return (await readAccepted(database, [messageId])).get(messageId) ?? { waMessageId: null };
    },

    findAccepted: (ids) => readAccepted(database, ids),

    async followReceipts(change, message) {
      const behavior = await readBehavior(change.tx, message.to);
      const { receipts, reply } = planReceipts(behavior, change.now, random());
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

/** The handlers of the network's timers, which report receipts and replies. */
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
