import type { ReadReceiptRequest } from '../../contract/service/messages.ts';
import { repeatCall } from '../connections/repeat-call.ts';
import { ApiError } from './api-error.ts';
import { type ConnectionLifeOptions, isGone } from './connection-life.ts';
import type { Operation } from './operations.ts';
import { describeServiceFailure, type PassedCodes } from './service-failure.ts';
import { findTarget } from './service-target.ts';

const REFUSALS: PassedCodes = {
  addon_required: 'The connection has no active API add-on.',
  license_inactive: 'The license of the connection has lapsed.',
};

/**
 * `POST /v1/read-receipts`. Marking is idempotent, so it is retried after a lost response; `marked` then
 * counts what the last call marked, which may be nothing.
 */
export function sendReadReceipt(options: ConnectionLifeOptions): Operation<'sendReadReceipt'> {
  return async ({ body }) => {
    const { connectionId, phone, messageId } = body;
    const { client } = await findTarget(options, connectionId);
    const receipt: ReadReceiptRequest = {
      connectionId,
      ...(phone === undefined ? {} : { phone }),
      ...(messageId === undefined ? {} : { messageId }),
    };
    try {
      const marked = await repeatCall(options, (signal) => client.markRead(receipt, signal));
      return { ok: true, marked };
    } catch (error) {
      // The connection or the message: the service does not say which.
      if (isGone(error))
        throw new ApiError(
          'not_found',
          'The connection does not exist, or has no incoming message with this id.',
        );
      throw describeServiceFailure(error, REFUSALS);
    }
  };
}
