import { z } from 'zod';
import { apiCall, CALL_KEYS } from './calls.ts';
import { CONNECTION_KEYS, listedConnection } from './connections.ts';
import { DELIVERY_KEYS, delivery } from './deliveries.ts';
import { LONGEST_FILTER } from './filter.ts';
import { SANDBOX_PAGE } from './lists.ts';
import { MESSAGE_KEYS, storedMessage } from './messages.ts';

/** The lists that a condition can be about, with what each can be filtered by. */
export const CONDITION_KEYS = {
  deliveries: DELIVERY_KEYS,
  calls: CALL_KEYS,
  messages: MESSAGE_KEYS,
  connections: CONNECTION_KEYS,
} as const;
export type ConditionList = keyof typeof CONDITION_KEYS;

const AS_IN_LISTS = 'a filter as `q` of the list takes it';
const filterText = z.string().max(LONGEST_FILTER);

/** How long a wait takes if it is not met, in milliseconds. */
export const WAIT_MS = { default: 5_000, max: 60_000 } as const;

/** Body of `POST /wait`. */
export const waitRequest = z.strictObject({
  list: z
    .enum(['deliveries', 'calls', 'messages', 'connections'])
    .describe('The list in which entries are expected.'),
  q: filterText.optional().describe(`Which entries count: ${AS_IN_LISTS}. If absent, all.`),
  count: z
    .int()
    .min(1)
    .max(SANDBOX_PAGE.max)
    .optional()
    .describe('How many entries must match, including those that already do. Defaults to 1.'),
  timeoutMs: z
    .int()
    .min(0)
    .max(WAIT_MS.max)
    .optional()
    .describe(
      `The longest wait in milliseconds of the wall clock; 0 checks once. Defaults to ${WAIT_MS.default}.`,
    ),
});
export type WaitRequest = z.infer<typeof waitRequest>;

const waitResult = {
  holds: z.boolean().describe('Whether enough entries matched in time.'),
  waitedMs: z.int().min(0).describe('How long it took, in milliseconds of the wall clock.'),
  explanation: z.string().describe('What was found, or what there is instead.'),
};
const FOUND = 'The entries that match, newest first, at most `count`.';

/** Response of `POST /wait`. */
export const waited = z.discriminatedUnion('list', [
  z.object({
    list: z.literal('deliveries').describe('The list of the request.'),
    ...waitResult,
    entries: z.array(delivery).describe(FOUND),
  }),
  z.object({
    list: z.literal('calls').describe('The list of the request.'),
    ...waitResult,
    entries: z.array(apiCall).describe(FOUND),
  }),
  z.object({
    list: z.literal('messages').describe('The list of the request.'),
    ...waitResult,
    entries: z.array(storedMessage).describe(FOUND),
  }),
  z.object({
    list: z.literal('connections').describe('The list of the request.'),
    ...waitResult,
    entries: z.array(listedConnection).describe(FOUND),
  }),
]);
export type Waited = z.infer<typeof waited>;

const MAX_EXPECTED = 200;

/** Body of `POST /verify`. */
export const verifyRequest = z
  .strictObject({
    list: z.enum(['deliveries', 'calls', 'messages']).describe('The list that is verified.'),
    q: filterText
      .optional()
      .describe(
        `Which entries are examined: ${AS_IN_LISTS}. If absent, all. Of more than ${SANDBOX_PAGE.max}, the newest.`,
      ),
    expected: z
      .array(
        z.strictObject({
          q: filterText.describe(`What is expected: ${AS_IN_LISTS}.`),
          count: z
            .int()
            .min(1)
            .max(MAX_EXPECTED)
            .optional()
            .describe('How many of these are expected in succession. Defaults to 1.'),
        }),
      )
      .max(MAX_EXPECTED)
      .describe('The expected entries, oldest first. Each is matched with another entry.'),
    anyOrder: z.boolean().optional().describe('True accepts them in any order. Defaults to false.'),
    only: z
      .boolean()
      .optional()
      .describe('True accepts no entries besides the expected ones. Defaults to false.'),
  })
  .refine(({ expected }) => expected.reduce((sum, { count = 1 }) => sum + count, 0) <= MAX_EXPECTED, {
    message: `must not expect more than ${MAX_EXPECTED} entries`,
    path: ['expected'],
  });
export type VerifyRequest = z.infer<typeof verifyRequest>;

const difference = z.object({
  kind: z
    .enum(['missing', 'unexpected'])
    .describe(
      '`missing`: no entry matches at this place; `unexpected`: with `only`, an entry that nothing expects.',
    ),
  place: z.int().min(1).optional().describe('Which of the expected entries, counted from 1 with `count`.'),
  q: z.string().optional().describe('What was expected there.'),
  id: z.string().optional().describe('Id of an unexpected entry.'),
});
export type Difference = z.infer<typeof difference>;

/** Response of `POST /verify`. */
export const verified = z.object({
  holds: z.boolean().describe('Whether there is no difference.'),
  examined: z.int().min(0).describe('How many entries were examined.'),
  differences: z.array(difference).describe('What differs: expected entries first, in their order.'),
  explanation: z
    .string()
    .describe(
      'The result in words; of a difference, all examined entries, with what is missing (-) and unexpected (+).',
    ),
});
export type Verified = z.infer<typeof verified>;
