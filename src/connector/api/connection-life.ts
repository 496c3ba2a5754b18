import type { ReadReceiptRequest } from '../../contract/service/messages.ts';
import { repeatCall } from '../connections/create-connection.ts';
import { markDeleted, readMirrorRow, storeDetail } from '../db/connection-rows.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { isRefusal, ServiceError } from '../service-client/service-errors.ts';
import { ApiError, notFound } from './api-error.ts';
import type { ApiParts, Operations } from './operations.ts';
import { describeServiceFailure, type PassedCodes } from './service-failure.ts';
import { findTarget, type ServiceTarget } from './service-target.ts';

const SESSION_REFUSALS: PassedCodes = {
  not_supported_for_provider: 'A number of the business platform has no session.',
};

const CODE_REFUSALS: PassedCodes = {
  invalid_phone_number: 'phoneNumber: must be international digits only, without a plus sign.',
  already_connected: 'The session is live; there is nothing to pair.',
  not_supported_for_provider: 'A number of the business platform cannot be paired.',
};

const RECEIPT_REFUSALS: PassedCodes = {
  addon_required: 'The connection has no active API add-on.',
  license_inactive: 'The license of the connection has lapsed.',
};

/** The operations that the service carries out. */
export function controlConnections(parts: ApiParts) {
  return {
    /** After a lost response the session is restarted again, which has the same result. */
    async restartConnection({ id, query }) {
      const target = await findTarget(parts, id, query.accountId);
      const { recreated } = await callAbout(parts, target, id, (client, signal) =>
        client.restartConnection(id, signal),
      );
      await follow(parts, target, id);
      return { ok: true, recreated };
    },
    /** A second logout changes nothing, so it is retried after a lost response. */
    async logoutConnection({ id, query }) {
      const target = await findTarget(parts, id, query.accountId);
      await callAbout(parts, target, id, (client, signal) => client.logoutConnection(id, signal));
      await follow(parts, target, id);
      return { ok: true };
    },
    /**
     * If the response was lost, the retry finds that the connection no longer exists, which counts as deleted. The call is
     * therefore idempotent, also for the CRM.
     */
    async deleteConnection({ id, query }) {
      const target = await findTarget(parts, id, query.accountId);
      let repeated = false;
      const remove = async (signal: AbortSignal): Promise<void> => {
        const again = repeated;
        repeated = true;
        await target.client.deleteConnection(id, signal).catch((error: unknown) => {
          if (!isGone(error) || (target.row === null && !again)) throw error;
        });
      };
      await repeatCall(parts, remove).catch((error: unknown) => {
        throw isGone(error) ? notFound('connection') : describeServiceFailure(error);
      });
      await noteDeleted(parts, target.accountId, id);
      void parts.reconciler.pollSoon(target.accountId);
      return { ok: true };
    },
    /** Never retried automatically: each call counts towards a cap. */
    async requestPairingCode({ id, query, body }) {
      const target = await findTarget(parts, id, query.accountId);
      const fallback = `/v1/connections/${encodeURIComponent(id)}/pairing`;
      const passed: PassedCodes = {
        ...CODE_REFUSALS,
        // [connections.pairing-code.fallback]
        pairing_code_unavailable: `No pairing code is available now; use the QR code instead: GET ${fallback}.`,
      };
      try {
        return { code: await target.client.requestPairingCode(id, body.phoneNumber, parts.closing) };
      } catch (error) {
        if (isGone(error)) await noteDeleted(parts, target.accountId, id);
        throw isGone(error) ? notFound('connection') : describeServiceFailure(error, passed);
      }
    },
    /**
     * Marking is idempotent, so it is retried after a lost response; `marked` then counts what the last call marked, which
     * may be nothing.
     */
    async sendReadReceipt({ body }) {
      const { connectionId, phone, messageId } = body;
      const { client } = await findTarget(parts, connectionId);
      const receipt: ReadReceiptRequest = {
        connectionId,
        ...(phone === undefined ? {} : { phone }),
        ...(messageId === undefined ? {} : { messageId }),
      };
      try {
        const marked = await repeatCall(parts, (signal) => client.markRead(receipt, signal));
        return { ok: true, marked };
      } catch (error) {
        // The connection or the message: the service does not say which.
        if (isGone(error))
          throw new ApiError(
            'not_found',
            'The connection does not exist, or has no incoming message with this id.',
          );
        throw describeServiceFailure(error, RECEIPT_REFUSALS);
      }
    },
  } satisfies Operations;
}

/** True if the service itself does not know the object; the 404 of a proxy has no code. */
export function isGone(error: unknown): boolean {
  return isRefusal(error, 'not_found');
}

/** Records in the mirror that the connection no longer exists at the service. */
export async function noteDeleted(
  { database, clock, feed }: ApiParts,
  accountId: string,
  connectionId: string,
): Promise<void> {
  if (await markDeleted(database, connectionId, accountId, clock.now())) feed.notify();
}

async function callAbout<T>(
  parts: ApiParts,
  target: ServiceTarget,
  connectionId: string,
  call: (client: ServiceClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await repeatCall(parts, (signal) => call(target.client, signal));
  } catch (error) {
    if (isGone(error)) await noteDeleted(parts, target.accountId, connectionId);
    throw isGone(error) ? notFound('connection') : describeServiceFailure(error, SESSION_REFUSALS);
  }
}

/**
 * Updates the mirror after a call to the service. The operation itself has succeeded by now, so a missing
 * detail is not a failure.
 */
export async function follow(
  { database, clock, closing, feed, reconciler }: ApiParts,
  { accountId, client }: Pick<ServiceTarget, 'accountId' | 'client'>,
  connectionId: string,
): Promise<void> {
  // Taken before the detail is requested: an event that arrives in the meantime is newer.
  const row = await readMirrorRow(database, connectionId);
  const owner = { accountId, version: row?.version ?? null };
  try {
    const detail = await client.getConnection(connectionId, closing);
    if (await storeDetail(database, owner, detail, clock.now())) feed.notify();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
  void reconciler.pollSoon(accountId);
}
