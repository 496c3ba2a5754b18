import { createHash, randomUUID } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import type { QueueMessageRequest } from '../../contract/connector/messages.ts';
import { LAST_ATTEMPT_AFTER_MS } from '../../patterns/send-policy.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { outbound } from '../db/outbox-tables.ts';
import { writeSendChanges } from './stored-outbound.ts';

/* Calls of the API that concern a send. They are SQL because each statement also writes its changes. */

/**
 * Result of a request to send: `queued`, now or earlier; `reused` if its reference belongs to a different send;
 * `no_connection` if the connection is unknown or deleted.
 */
export type Queued =
  | { readonly kind: 'queued'; readonly outboundId: string; readonly isNew: boolean }
  | { readonly kind: 'reused' }
  | { readonly kind: 'no_connection' };

const INSERT = `
WITH owner AS (SELECT c.account_id, c.deleted_at FROM connector.connections c WHERE c.connection_id = $2),
inserted AS (
  INSERT INTO connector.outbound
    (id, account_id, connection_id, reference, fingerprint, recipient, text, media_filename, media_mimetype,
     media_caption, media_fingerprint, idempotency_key, state, next_attempt_at, created_at, updated_at)
  SELECT $1, owner.account_id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'queued', $12::bigint, $12::bigint,
         $12::bigint
    FROM owner WHERE owner.deleted_at IS NULL
  ON CONFLICT (account_id, reference) DO NOTHING
  RETURNING *
),
inserted_file AS (
  INSERT INTO connector.outbound_media (outbound_id, bytes)
  SELECT p.id, $13::bytea FROM inserted p WHERE p.media_fingerprint IS NOT NULL
),
${writeSendChanges('inserted', 'api', '$12::bigint')}
SELECT o.account_id AS "accountId", o.deleted_at IS NOT NULL AS "isDeleted", EXISTS (SELECT FROM inserted) AS "isNew"
  FROM owner o`;

/**
 * Writing the largest file may take 22 s. Half of a deadline is the longest wait for a table that somebody else has
 * locked, so that of a small file is short.
 */
const deadlineOf = (bytes: Uint8Array): number => 10_000 + bytes.length / 1_024;

/**
 * Commits a send under the CRM's own reference, with a new idempotency key for the service. If the same request
 * is repeated, even after a lost answer or after the connection was deleted, the result is the same send.
 * Throws as `query` does.
 */
export async function queueSend(
  database: Database,
  request: QueueMessageRequest,
  now: number,
): Promise<Queued> {
  const { connectionId, reference, to, text, media } = request;
  const bytes = media === undefined ? null : Buffer.from(media.data, 'base64');
  const mediaFingerprint = bytes === null ? null : fingerprintOf(bytes);
  const { filename = null, mimetype = null, caption = null } = media ?? {};
  const fingerprint = fingerprintOf(
    JSON.stringify([connectionId, to, text ?? null, filename, mimetype, caption, mediaFingerprint]),
  );
  const id = randomUUID();
  const [row] = await database.query<{ accountId: string; isDeleted: boolean; isNew: boolean }>(
    INSERT,
    [
      id,
      connectionId,
      reference,
      fingerprint,
      to,
      text ?? null,
      filename,
      mimetype,
      caption,
      mediaFingerprint,
      randomUUID(), // [messages.send.key-uuid]
      now,
      bytes,
    ],
    bytes === null ? {} : { deadlineMs: deadlineOf(bytes) },
  );
  if (row === undefined) return { kind: 'no_connection' };
  if (row.isNew) return { kind: 'queued', outboundId: id, isNew: true };
  const [known] = await orm(database)
    .select({ id: outbound.id, fingerprint: outbound.fingerprint })
    .from(outbound)
    .where(and(eq(outbound.accountId, row.accountId), eq(outbound.reference, reference)));
  if (known === undefined && row.isDeleted) return { kind: 'no_connection' };
  if (known?.fingerprint !== fingerprint) return { kind: 'reused' };
  return { kind: 'queued', outboundId: known.id, isNew: false };
}

/** SHA-256 in hex. */
export function fingerprintOf(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

const CANCEL = `
WITH cancelled AS (
  UPDATE connector.outbound o SET state = 'cancelled', next_attempt_at = NULL, updated_at = $2::bigint
   WHERE o.id = $1 AND o.state = 'queued' AND NOT o.in_doubt
  RETURNING o.*
),
deleted_file AS (
  DELETE FROM connector.outbound_media f USING cancelled c WHERE f.outbound_id = c.id
),
${writeSendChanges('cancelled', 'api', '$2::bigint')}
SELECT connection_id AS "connectionId" FROM cancelled`;

/**
 * Cancels a send while it is queued, unless an answer was lost and the message may have been sent. Resolves
 * with its connection; undefined if nothing was changed. Throws as `query` does.
 */
export async function cancelSend(db: Queryable, id: string, now: number): Promise<string | undefined> {
  const [cancelled] = await db.query<{ connectionId: string }>(CANCEL, [id, now]);
  return cancelled?.connectionId;
}

/*
 * A late retry gets a new key, because the service has forgotten the old one by now. The send moves to the end
 * of its queue, behind sends that have been waiting longer.
 */
const RETRY = `
WITH retried AS (
  UPDATE connector.outbound o
     SET state = 'queued', position = DEFAULT, next_attempt_at = $2::bigint, updated_at = $2::bigint,
         idempotency_key = CASE WHEN o.first_attempt_at < $3::bigint THEN $4 ELSE o.idempotency_key END,
         in_doubt = o.in_doubt AND o.first_attempt_at >= $3::bigint,
         first_attempt_at = CASE WHEN o.first_attempt_at < $3::bigint THEN NULL ELSE o.first_attempt_at END
   WHERE o.id = $1 AND o.state IN ('unknown', 'rejected')
  RETURNING o.*
),
${writeSendChanges('retried', 'api', '$2::bigint')}
SELECT connection_id AS "connectionId" FROM retried`;

/** Queues an `unknown` or `rejected` send again. Resolves and throws as `cancelSend` does. */
export async function retrySend(db: Queryable, id: string, now: number): Promise<string | undefined> {
  const params = [id, now, now - LAST_ATTEMPT_AFTER_MS, randomUUID()];
  const [retried] = await db.query<{ connectionId: string }>(RETRY, params);
  return retried?.connectionId;
}
