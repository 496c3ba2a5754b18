import { z } from 'zod';
import { readReceiptRequest } from '../service/messages.ts';
import { connectionId } from './lists.ts';
import { queueMessageRequest } from './messages.ts';
import type { Right } from './rights.ts';

/** A tool as data: the right that it needs, and its arguments. */
interface ToolDefinition {
  readonly right: Right;
  readonly input: z.ZodType;
}

const contact = z
  .string()
  .min(1)
  .max(64)
  .describe(
    'The other party: a phone number with its country code, in any spelling, or another address as in `peer`.',
  );
const text = z.string().min(3).max(200).describe('A part of the text, upper or lower case.');
const limit = z.int().min(1).max(100).default(20).describe('Maximum number of entries.');
const cursor = z.string().min(1).max(1024).optional().describe('`nextCursor` of the previous answer.');
const ofConnection = connectionId.optional().describe('Only this connection. If absent, all connections.');

const { media: _media, ...send } = queueMessageRequest.shape;

/** The tools of the connector for agents, by name. A token sees and calls those that its rights allow. */
export const CONNECTOR_TOOLS = {
  find_conversation: {
    right: 'read',
    input: z
      .strictObject({ contact: contact.optional(), text: text.optional(), connectionId: ofConnection })
      .refine((given) => (given.contact === undefined) !== (given.text === undefined), {
        message: 'must be given without `text`, or `text` without it',
        path: ['contact'],
      }),
  },
  read_messages: {
    right: 'read',
    input: z.strictObject({ connectionId, contact, limit, cursor }),
  },
  why_is_it_missing: {
    right: 'read',
    input: z
      .strictObject({
        messageId: z.string().min(1).max(255).optional().describe('The id that the service assigned.'),
        contact: contact.optional(),
        text: text.optional(),
        at: z.iso
          .datetime({ offset: true })
          .optional()
          .describe('When it was sent, as ISO 8601 date-time. If absent, a moment ago.'),
        connectionId: ofConnection,
      })
      .refine((given) => (given.messageId ?? given.contact ?? given.text) !== undefined, {
        message: 'needs `messageId`, `contact` or `text`',
        path: ['messageId'],
      }),
  },
  health: { right: 'read', input: z.strictObject({}) },
  list_dead_letters: { right: 'read', input: z.strictObject({ limit, cursor }) },
  queue_send: {
    right: 'write',
    input: z.strictObject({ ...send, text: send.text.unwrap() }),
  },
  mark_read: { right: 'write', input: readReceiptRequest },
} as const satisfies Readonly<Record<string, ToolDefinition>>;

export type ConnectorToolName = keyof typeof CONNECTOR_TOOLS;

/** The checked arguments of a tool. */
export type ConnectorToolInput<Name extends ConnectorToolName> = z.infer<
  (typeof CONNECTOR_TOOLS)[Name]['input']
>;
