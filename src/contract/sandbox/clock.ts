import { z } from 'zod';
import { queryInteger } from '../schema/query.ts';
import { dateTime } from '../service/fields.ts';
import { entriesOf } from './lists.ts';

/** Response of `GET /clock`, `POST /clock/freeze` and `POST /clock/run`. */
export const virtualClock = z.object({
  now: dateTime.describe('The current virtual time.'),
  frozen: z
    .boolean()
    .describe('Whether virtual time is frozen: it stands still until it is advanced or resumed.'),
});
export type VirtualClock = z.infer<typeof virtualClock>;

const tenYearsMs = 10 * 365 * 24 * 3_600_000;

/** Body of `POST /clock/advance`: a number of milliseconds, or a time that is not in the past. */
export const advanceClockRequest = z
  .strictObject({
    ms: z.int().min(0).max(tenYearsMs).optional().describe('How far to advance, in milliseconds.'),
    to: dateTime.optional().describe('The virtual time to advance to; must not be in the past.'),
  })
  .refine((body) => (body.ms === undefined) !== (body.to === undefined), {
    message: 'must have exactly one of `ms` and `to`',
    path: ['ms'],
  })
  .meta({ oneOf: [{ required: ['ms'] }, { required: ['to'] }] });
export type AdvanceClockRequest = z.infer<typeof advanceClockRequest>;

/** A timer that has fired or will fire. */
export const timer = z.object({
  at: dateTime.describe('When it is due, in virtual time.'),
  what: z.string().describe('What happens, for example `message.delivered`.'),
  id: z
    .union([z.string(), z.int()])
    .describe('Id of the connection, message or other object that it concerns.'),
});
export type Timer = z.infer<typeof timer>;

/** Response of an advance: the timers that fired, in order. */
export const advancedClock = z.object({
  now: dateTime.describe('The virtual time afterwards.'),
  fired: z.array(timer).describe('The timers that fired, in order.'),
});
export type AdvancedClock = z.infer<typeof advancedClock>;

/** Query of `GET /clock/due`. */
export const dueTimersQuery = z.strictObject({
  until: dateTime
    .optional()
    .describe('Only timers that are due by this virtual time, which an advance to it would fire.'),
  limit: queryInteger({ min: 1, max: 1000, default: 20 }).describe('Maximum number of timers to list.'),
});
export type DueTimersQuery = z.infer<typeof dueTimersQuery>;

/** The timers that fire next, soonest first. */
export const dueTimerList = entriesOf(timer).extend({
  total: z
    .int()
    .min(0)
    .describe(
      'How many there are, also beyond `limit`. Timers that these set when they fire are not included.',
    ),
});
export type DueTimerList = z.infer<typeof dueTimerList>;

/** Body of `PUT /timing`, and response of `PUT /timing` and `GET /timing`. */
export const timing = z.strictObject({
  sendScale: z
    .number()
    .min(0)
    .max(100)
    .describe("Scale of the send latency: 1 is the service's real latency, 0 is none, 2 is twice as slow."),
});
export type Timing = z.infer<typeof timing>;
