import { z } from 'zod';
import { messageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { phoneMessages } from '../db/network-tables.ts';
import { keepFile } from '../media/media-store.ts';
import type { TimerHandler } from '../time/timer-runner.ts';
import { readBehavior } from './contacts.ts';
import { passInbound } from './hold-reports.ts';
import type { NetworkReports, PhoneNetwork } from './network.ts';
import { planReceipts } from './plan-receipts.ts';
import { simulatedSessions } from './sessions.ts';

interface Options {
  readonly database: Queryable;
  /** Draws in [0, 1). */
  readonly random: () => number;
}

const receiptTimer = z.object({ messageId: z.string(), status: messageStatus, at: z.number() });
const replyTimer = z.object({ connectionId: z.string(), from: z.string(), text: z.string() });

/** A network of simulated people, who receive, read, fail and reply as their contact is configured. */
export function createSimulatedNetwork({ database, random }: Options): PhoneNetwork {
  return {
    sessions: simulatedSessions,
    passInbound,

    async isRegistered(phone) {
      const { onNetwork } = await readBehavior(database, phone);
      return onNetwork;
    },

    async accept(
      { tx, now },
      { messageId, connectionId, from: sender, to: phone, text, waMessageId, media },
    ) {
      if (media !== null) await keepFile(tx, media, now);
      const accepted = await orm(tx)
        .insert(phoneMessages)
        .values({ messageId, phone, connectionId, sender, text, waMessageId, at: now, mediaId: media?.id })
        .onConflictDoNothing({ target: phoneMessages.messageId })
        .returning({ messageId: phoneMessages.messageId });
      return accepted.length > 0;
    },

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
