import type { Outbound, OutboundState } from '../../contract/connector/outbound.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import { tellChanges } from '../db/tell-changes.ts';

/** A send as a row or the data of a change holds it. Times in epoch ms. */
export interface StoredOutbound {
  readonly id: string;
  readonly accountId: string;
  readonly connectionId: string;
  readonly to: string;
  readonly text: string | null;
  readonly mediaFilename: string | null;
  readonly mediaMimetype: string | null;
  readonly mediaCaption: string | null;
  readonly reference: string;
  readonly state: OutboundState;
  readonly messageId: string | null;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly nextAttemptAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const SHOWN = {
  id: 'id',
  accountId: 'account_id',
  connectionId: 'connection_id',
  to: 'recipient',
  text: 'text',
  mediaFilename: 'media_filename',
  mediaMimetype: 'media_mimetype',
  mediaCaption: 'media_caption',
  reference: 'reference',
  state: 'state',
  messageId: 'message_id',
  attempts: 'attempts',
  lastError: 'last_error',
  nextAttemptAt: 'next_attempt_at',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const satisfies Readonly<Record<keyof StoredOutbound, string>>;

/** The columns of `StoredOutbound`, from the row `o`. */
export const OUTBOUND_COLUMNS = Object.entries(SHOWN)
  .map(([name, column]) => `o.${column} as "${name}"`)
  .join(', ');

const OUTBOUND_DATA = Object.entries(SHOWN)
  .map(([name, column]) => `'${name}', o.${column}`)
  .join(', ');

/** CTEs of `tellChanges`: one `outbound.updated` for each row of the CTE `rows`. `now` is a parameter. */
export function tellOutbound(rows: string, source: 'api' | 'send', now: string): string {
  return tellChanges({
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

/** Shows a send as the contract has it. The bytes of its file are not shown. */
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
    // While it is `sending`, the time says when it is looked up next, which is no attempt.
    nextAttemptAt: state === 'queued' ? toIsoOrNull(nextAttemptAt) : null,
    createdAt: toIso(rest.createdAt),
    updatedAt: toIso(rest.updatedAt),
  };
}
