import { bigint, boolean, index, text } from 'drizzle-orm/pg-core';
import { epochMs, platformSchema } from './column-types.ts';

const durationMs = (name: string) => bigint(name, { mode: 'number' });

/** How a person on the simulated network behaves. A number without a row has the default behavior. */
export const contacts = platformSchema.table('contacts', {
  phone: text('phone').primaryKey(),
  onNetwork: boolean('on_network').notNull(),
  deliverAfterMs: durationMs('deliver_after_ms'),
  readAfterMs: durationMs('read_after_ms'),
  failAfterMs: durationMs('fail_after_ms'),
  /** The text of the person's reply, sent shortly after a message was delivered. */
  autoReply: text('auto_reply'),
});

/** Messages that the network accepted for a phone. Only the network writes them, before the service stores a send. */
export const phoneMessages = platformSchema.table(
  'phone_messages',
  {
    messageId: text('message_id').primaryKey(),
    position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    phone: text('phone').notNull(),
    connectionId: text('connection_id').notNull(),
    sender: text('sender').notNull(),
    text: text('text'),
    mediaId: text('media_id'),
    waMessageId: text('wa_message_id').notNull(),
    at: epochMs('at').notNull(),
  },
  (table) => [index('phone_messages_phone').on(table.phone, table.position)],
);
