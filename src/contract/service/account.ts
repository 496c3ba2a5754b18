import { z } from 'zod';
import { dateTime } from './fields.ts';

const count = z.int().min(0);

/** Answer of `GET /account`. Implements `Account`. */
export const account = z.object({
  slots: z
    .object({
      total: count.describe('Capacity of the workspace: how many numbers can be licensed.'),
      used: count.describe('Slots that a number has taken.'),
      available: count.describe('What `POST /connections` can still use with an active licence.'),
      nextExpiry: dateTime.nullable().describe('Renew before this date; null while no number has paired.'),
    })
    .describe('A slot is capacity, not a number: it attaches when a number pairs.'),
  connections: z
    .object({
      total: count.describe('Connections that the credential reaches, unpaired ones included.'),
      connected: count.describe('Those whose session is live.'),
      needsReconnect: count.describe('Numbers waiting for a fresh QR scan.'),
    })
    .describe('How many connections there are, and in which state.'),
});
export type Account = z.infer<typeof account>;
