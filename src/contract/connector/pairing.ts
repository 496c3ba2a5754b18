import { z } from 'zod';

/** Why no QR code is currently available; the stream continues. */
export const PAIRING_WAITS = ['no_picture', 'service_unreachable', 'rate_limited'] as const;
const pairingWait = z
  .enum(PAIRING_WAITS)
  .describe(
    'Why no QR code is currently available. `no_picture`: the service has none now; remove the last one. `service_unreachable`: the service does not respond. `rate_limited`: the service asked to wait. The stream continues by itself.',
  );
export type PairingWait = z.infer<typeof pairingWait>;

/** Why a pairing stream ended before the number was connected. */
export const PAIRING_ENDS = [
  'disconnected',
  'not_found',
  'not_supported_for_provider',
  'refused',
  'no_picture',
  'expired',
  'closing',
] as const;
const pairingEnd = z
  .enum(PAIRING_ENDS)
  .describe(
    'Why the stream ended before the number was connected. `disconnected`: there is no session to pair; restart the connection. `not_found`: the connection does not exist at the service. `not_supported_for_provider`: this connection never pairs. `refused`: the service rejected the call; `message` contains its code. `no_picture`: the service showed none for three minutes; restart the connection. `expired`: nobody paired for a long time; open the stream again. `closing`: this process is stopping; open the stream again.',
  );
export type PairingEnd = z.infer<typeof pairingEnd>;

const sentence = z.string().describe('A message for people: what it means and what to do.');

/** Data of one event of `GET /v1/connections/{id}/pairing`. Nothing follows `connected` or `ended`. */
export const pairingEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('qr').describe('A new QR code.'),
    status: z
      .string()
      .nullable()
      .describe('Status of the connection as reported by the service, such as `connecting`.'),
    qr: z.string().describe('PNG as a data URI, valid for some seconds. Replace the previous one with it.'),
  }),
  z.object({
    type: z.literal('waiting').describe('No QR code is currently available.'),
    reason: pairingWait,
    message: sentence,
  }),
  z.object({
    type: z.literal('connected').describe('A number has paired. Nothing follows.'),
    status: z.string().describe('Status of the connection as reported by the service: `connected`.'),
  }),
  z.object({
    type: z.literal('ended').describe('The stream ended before the number was connected. Nothing follows.'),
    reason: pairingEnd,
    message: sentence,
  }),
]);
export type PairingEvent = z.infer<typeof pairingEvent>;
