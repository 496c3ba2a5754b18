import { z } from 'zod';
import { dateTime } from './fields.ts';

const count = z.int().min(0);

/** Response of `GET /account`. [account.exact] [account.get.answer] */
export const account = z.object({
  slots: z
    .object({
      // [account.slots.total]
      total: count.describe('Capacity of the workspace: how many numbers can be licensed.'),
      used: count.describe('Slots claimed by a number.'), // [account.slots.used]
      // [account.slots.available]
      available: count.describe('Slots that `POST /connections` can still use with an active license.'),
      // [account.slots.nextExpiry]
      nextExpiry: dateTime.nullable().describe('Renew before this date; null if no number has paired.'),
    })
    .describe('A slot is capacity, not a number: it is claimed when a number pairs.'),
  connections: z
    .object({
      // [account.connections.total]
      total: count.describe('Connections that the credential can access, including unpaired ones.'),
      connected: count.describe('Connections with a live session.'), // [account.connections.connected]
      // [account.connections.needsReconnect]
      needsReconnect: count.describe('Numbers waiting for a new QR scan.'),
    })
    .describe('The number of connections, in total and by state.'),
});
export type Account = z.infer<typeof account>;
