import { CONNECTION_KEYS, type OutageCause } from '../../contract/sandbox/connections.ts';
import { exactly } from '../../contract/sandbox/filter.ts';
import { detailStatus } from '../../platform/connections/connection-view.ts';
import type { PairingOutcome } from '../../platform/connections/pairing/owner-phones.ts';
import type { Connection } from '../../platform/connections/read-connections.ts';
import type { Platform } from '../../platform/platform.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { pageAfter, readCursor } from '../control/page-cursor.ts';
import { readFilter } from '../control/read-filter.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { listTransitions } from '../transitions/transition-log.ts';
import { scanPicture } from './phone-camera.ts';

const done = { ok: true } as const;

/** A number is one connection of a workspace, no matter how it was added. */
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

function presentConnection(connection: Connection, causes: ReadonlyMap<string, OutageCause>) {
  const { id, workspaceId, phoneNumber, label, provider, license, needsReconnect } = connection;
  return {
    ...{ id, workspaceId, phoneNumber, label, provider, needsReconnect },
    status: detailStatus(connection),
    licenseStatus: license.status,
    licenseExpires: license.expiresAt === null ? null : toIso(license.expiresAt),
    outage: causes.get(id) ?? null,
  };
}

type ListedTransition = Awaited<ReturnType<typeof listTransitions>>[number];

function presentTransition({ at, from, to, trigger, reason, needsReconnect, event }: ListedTransition) {
  return {
    at: toIso(at),
    from: from === null ? null : detailStatus({ state: from }),
    to: detailStatus({ state: to }),
    cause: trigger,
    ...{ reason, needsReconnect, event },
  };
}

/** Connections, and how their owners pair them. `database` has the transitions that were recorded. */
export function pairingEndpoints(
  { connections, ownerPhones, outages, messages }: Platform,
  database: Queryable,
) {
  return {
    async listConnections({ query: { limit, cursor, q, workspaceId, phoneNumber, order } }, within = '') {
      const skip = cursor === undefined ? 0 : readCursor(cursor);
      const given = { workspace: workspaceId, phone: phoneNumber };
      const filters = [...readFilter(CONNECTION_KEYS, q), ...readFilter(CONNECTION_KEYS, within)];
      const where = [...filters, ...exactly(given)];
      const listed = await connections.list({
        ...{ where, skip, limit: limit + 1 },
        newestFirst: order === 'newest',
      });
      const causes = await outages.causes(listed.map(({ id }) => id));
      return pageAfter(skip, listed, limit, (each) => presentConnection(each, causes));
    },

    async readConnection({ param }) {
      const connection = await connections.read(param('id'));
      const { id, license, provider } = connection;
      const warmup = await messages.warmup(connection);
      const phone = provider === 'qr' ? await outages.phone(id) : null;
      const presented = presentConnection(connection, await outages.causes([id]));
      return {
        ...presented,
        license: {
          status: presented.licenseStatus,
          expiresAt: presented.licenseExpires,
        },
        hasSlot: license.expiresAt !== null,
        warmup: warmup && {
          ...warmup,
          endsAt: toIso(warmup.endsAt),
          stepEndsAt: toIso(warmup.stepEndsAt),
        },
        phone: phone && { on: phone.on, blocked: [...phone.blocked] },
        transitions: (await listTransitions(database, id)).map(presentTransition),
      };
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
