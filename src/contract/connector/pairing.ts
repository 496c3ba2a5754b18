import { z } from 'zod';

/** Why there is no picture for now; the stream goes on. */
export const PAIRING_WAITS = ['no_picture', 'service_unreachable', 'rate_limited'] as const;
const pairingWait = z
  .enum(PAIRING_WAITS)
  .describe(
    'Why there is no picture for now. `no_picture`: the service has none now; take the last one away. `service_unreachable`: it does not answer. `rate_limited`: it asks to wait. The stream goes on by itself.',
  );
export type PairingWait = z.infer<typeof pairingWait>;

/** Why a stream of pictures ended before the number was connected. */
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
    'Why the stream ends without a connected number. `disconnected`: there is no session to pair; restart the connection. `not_found`: the service knows no such connection. `not_supported_for_provider`: it is never paired. `refused`: the service refuses the call; `message` holds its code. `no_picture`: the service showed none for three minutes; restart the connection. `expired`: nobody paired for a long time; open the stream again. `closing`: this process stops; open the stream again.',
  );
export type PairingEnd = z.infer<typeof pairingEnd>;

const sentence = z.string().describe('For people: what it means, and what to do.');

/** Data of one event of `GET /v1/connections/{id}/pairing`. After `connected` and `ended` nothing follows. */
export const pairingEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('qr').describe('A fresh picture.'),
    status: z
      .string()
      .nullable()
      .describe('Status of the connection as the service told it, such as `connecting`.'),
    qr: z.string().describe('Data URI of a PNG, good for some seconds: show it in place of the last one.'),
  }),
  z.object({
    type: z.literal('waiting').describe('There is no picture for now.'),
    reason: pairingWait,
    message: sentence,
  }),
  z.object({
    type: z.literal('connected').describe('A number has paired. Nothing follows.'),
    status: z.string().describe('Status of the connection as the service told it: `connected`.'),
  }),
  z.object({
    type: z.literal('ended').describe('It ends without a connected number. Nothing follows.'),
    reason: pairingEnd,
    message: sentence,
  }),
]);
export type PairingEvent = z.infer<typeof pairingEvent>;
