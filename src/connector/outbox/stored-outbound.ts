import type { GetColumnData } from 'drizzle-orm';
import type { Outbound } from '../../contract/connector/outbound.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import { outbound } from '../db/schema.ts';
import { writeChanges } from '../db/write-changes.ts';

/** The fields of a send that are shown, by the name of their column. */
export const SHOWN = {
  id: outbound.id,
  accountId: outbound.accountId,
  connectionId: outbound.connectionId,
  to: outbound.recipient,
  text: outbound.text,
  mediaFilename: outbound.mediaFilename,
  mediaMimetype: outbound.mediaMimetype,
  mediaCaption: outbound.mediaCaption,
  reference: outbound.reference,
  state: outbound.state,
  messageId: outbound.messageId,
  attempts: outbound.attempts,
  lastError: outbound.lastError,
  nextAttemptAt: outbound.nextAttemptAt,
  createdAt: outbound.createdAt,
  updatedAt: outbound.updatedAt,
};

/** A send as stored in its row or in the data of a change. Times in epoch ms. */
export type StoredOutbound = { readonly [Name in keyof typeof SHOWN]: GetColumnData<(typeof SHOWN)[Name]> };

const OUTBOUND_DATA = Object.entries(SHOWN)
  .map(([name, column]) => `'${name}', o.${column.name}`)
  .join(', ');

/**
 * The CTEs of `writeChanges` that write one `outbound.updated` for each row of the CTE `rows`. `now` is a
 * parameter.
 */
export function writeSendChanges(rows: string, source: 'api' | 'send', now: string): string {
  return writeChanges({
    made: [rows],
    changes: [
      {
        type: `'outbound.updated'`,
        at: now,
        accountId: 'o.account_id',
        connectionId: 'o.connection_id',
        messageId: 'o.message_id',
        source: `'${source}'`,
        data: `jsonb_build_object(${OUTBOUND_DATA})`,
        from: `FROM ${rows} o`,
      },
    ],
  });
}

/** Converts a send to the shape of the contract, without the bytes of its file. */
export function presentOutbound(stored: StoredOutbound): Outbound {
  const { mediaFilename, mediaMimetype, mediaCaption, state, nextAttemptAt, ...rest } = stored;
  const media =
    mediaFilename === null || mediaMimetype === null
      ? null
      : { filename: mediaFilename, mimetype: mediaMimetype, caption: mediaCaption };
  return {
    ...rest,
    state,
    media,
    nextAttemptAt: toIsoOrNull(nextAttemptAt),
    createdAt: toIso(rest.createdAt),
    updatedAt: toIso(rest.updatedAt),
  };
}
