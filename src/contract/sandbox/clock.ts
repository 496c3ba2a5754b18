import { z } from 'zod';
import { queryInteger } from '../query.ts';
import { dateTime } from '../service/fields.ts';
import { entriesOf } from './lists.ts';

/** Answer of `GET /clock`, and of freezing and running it. */
export const virtualClock = z.object({
  now: dateTime.describe('Virtual time.'),
  frozen: z.boolean().describe('True: time stands until it is advanced or runs again.'),
});
export type VirtualClock = z.infer<typeof virtualClock>;

const tenYearsMs = 10 * 365 * 24 * 3_600_000;

/** Body of `POST /clock/advance`: by so many milliseconds, or to an instant that is not in the past. */
export const advanceClockRequest = z
  .strictObject({
    ms: z.int().min(0).max(tenYearsMs).optional().describe('How far to move, in milliseconds.'),
    to: dateTime.optional().describe('The virtual time to move to; not in the past.'),
  })
  .refine((body) => (body.ms === undefined) !== (body.to === undefined), {
    message: 'needs exactly one of `ms` and `to`',
    path: ['ms'],
  })
  .meta({ oneOf: [{ required: ['ms'] }, { required: ['to'] }] });
export type AdvanceClockRequest = z.infer<typeof advanceClockRequest>;

/** A timer that fired or will. */
export const timer = z.object({
  at: dateTime.describe('When it is due, virtual time.'),
  what: z.string().describe('What it does, for example `message.delivered`.'),
  id: z.union([z.string(), z.int()]).describe('Id of the connection, message or other object it is for.'),
});
export type Timer = z.infer<typeof timer>;

/** Answer of an advance: what fired, in order. */
export const advancedClock = z.object({
  now: dateTime.describe('Virtual time afterwards.'),
  fired: z.array(timer).describe('What fired on the way, in order.'),
});
export type AdvancedClock = z.infer<typeof advancedClock>;

/** Query of `GET /clock/due`. */
export const dueTimersQuery = z.strictObject({
  limit: queryInteger({ min: 1, max: 1000, default: 20 }).describe('How many timers to list.'),
});
export type DueTimersQuery = z.infer<typeof dueTimersQuery>;

/** What fires next, soonest first. */
export const dueTimerList = entriesOf(timer);
export type DueTimerList = z.infer<typeof dueTimerList>;

/** Body of `PUT /timing`, and answer of it and of `GET /timing`. */
export const timing = z.strictObject({
  sendScale: z
    .number()
    .min(0)
    .max(100)
    .describe("The pace of sends: 1 is the service's real latency, 0 is none, 2 is twice as slow."),
});
export type Timing = z.infer<typeof timing>;
