import { detailStatus } from '../../platform/connections/connection-view.ts';
import type { PairingOutcome } from '../../platform/connections/pairing/owner-phones.ts';
import type { Platform } from '../../platform/platform.ts';
import { pageAfter, readCursor } from '../control/page-cursor.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { givenFields } from './given-fields.ts';
import { scanPicture } from './phone-camera.ts';

const done = { ok: true } as const;

/** A number is one connection of a workspace, whoever adds it. */
export const NUMBER_TAKEN = 'Another connection of the workspace has this number.';

/** What the phone shows its owner; a `field` makes it a fault of the input. */
const REFUSALS: Readonly<
  Record<Exclude<PairingOutcome, 'paired' | 'expired'>, { readonly why: string; readonly field?: string }>
> = {
  no_ticket: { why: "'qr': the QR code contains something other than a pairing code.", field: 'qr' },
  other_connection: { why: "'qr': the QR code belongs to another connection.", field: 'qr' },
  no_account: { why: "'phoneNumber': the number has no account on the network.", field: 'phoneNumber' },
  no_number: {
    why: "'phoneNumber': is required, because no generated number is free.",
    field: 'phoneNumber',
  },
  number_taken: { why: NUMBER_TAKEN },
  wrong_number: { why: 'The connection already has another number, and keeps it.' },
};

function refuse(outcome: Exclude<PairingOutcome, 'paired'>, expired: 'qr_expired' | 'code_expired'): never {
  if (outcome === 'expired') throw new SandboxError(expired);
  const { why, field } = REFUSALS[outcome];
  throw new SandboxError(field === undefined ? 'wrong_state' : 'invalid_request', why, field);
}

/** The phones of owners as they pair. */
export function pairingEndpoints({ connections, ownerPhones }: Platform) {
  return {
    async listConnections({ query: { limit, cursor, ...filter } }) {
      const skip = cursor === undefined ? 0 : readCursor(cursor);
      const listed = await connections.list({ ...givenFields(filter), skip, limit: limit + 1 });
      return pageAfter(skip, listed, limit, (connection) => ({
        id: connection.id,
        workspaceId: connection.workspaceId,
        phoneNumber: connection.phoneNumber,
        label: connection.label,
        provider: connection.provider,
        status: detailStatus(connection),
        licenseStatus: connection.license.status,
      }));
    },

    async scan({ param, body }) {
      const text = body.qr === undefined ? null : scanPicture(body.qr);
      if (body.qr !== undefined && text === null) {
        throw new SandboxError('invalid_request', "'qr': contains no readable QR code.", 'qr');
      }
      const outcome = await ownerPhones.scan(param('id'), text, body.phoneNumber);
      return outcome === 'paired' ? done : refuse(outcome, 'qr_expired');
    },

    async enterCode({ param, body }) {
      const outcome = await ownerPhones.enterCode(param('id'), body.code);
      return outcome === 'paired' ? done : refuse(outcome, 'code_expired');
    },
  } satisfies Handlers;
}
