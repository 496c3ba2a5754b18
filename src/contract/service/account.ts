import { z } from 'zod';
import { dateTime } from './fields.ts';

const count = z.int().min(0);

/** Answer of `GET /account`. Implements `Account`. */
export const account = z.object({
  slots: z.object({
    total: count,
    used: count,
    available: count.describe('What `POST /connections` can still use with an active licence.'),
    nextExpiry: dateTime.nullable().describe('Renew before this date; null while no number has paired.'),
  }),
  connections: z.object({
    total: count,
    connected: count,
    needsReconnect: count.describe('Numbers waiting for a fresh scan.'),
  }),
});
export type Account = z.infer<typeof account>;
