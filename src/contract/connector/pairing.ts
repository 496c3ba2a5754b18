import { z } from 'zod';

/** Why pictures are not to be had for now; the stream goes on. */
export const PAIRING_WAITS = ['no_picture', 'service_unreachable', 'rate_limited'] as const;
const pairingWait = z.enum(PAIRING_WAITS);
export type PairingWait = z.infer<typeof pairingWait>;

/**
 * Why a stream of pictures ended before the number was connected: `disconnected` (there is no session to pair;
 * restart it), `not_found` (the service knows no such connection), `not_supported_for_provider` (it never
 * pairs), `refused` (the service refuses the credential), `expired` (nobody paired for a long time; open it
 * again), `closing` (this process cannot go on; open it again).
 */
export const PAIRING_ENDS = [
  'disconnected',
  'not_found',
  'not_supported_for_provider',
  'refused',
  'expired',
  'closing',
] as const;
const pairingEnd = z.enum(PAIRING_ENDS);
export type PairingEnd = z.infer<typeof pairingEnd>;

const sentence = z.string().describe('For people: what it means, and what to do.');

/** Data of one event of `GET /v1/connections/{id}/pairing`. After `connected` and `ended` nothing follows. */
export const pairingEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('qr'),
    status: z.string().nullable(),
    qr: z.string().describe('Data URI of a PNG, good for some seconds: show it in place of the last one.'),
  }),
  z.object({ type: z.literal('waiting'), reason: pairingWait, message: sentence }),
  z.object({ type: z.literal('connected'), status: z.string() }),
  z.object({ type: z.literal('ended'), reason: pairingEnd, message: sentence }),
]);
export type PairingEvent = z.infer<typeof pairingEvent>;
