import { randomBytes } from 'node:crypto';
import type { Queryable } from '../../../runtime/database/database.ts';
import { PlatformError } from '../../kernel/platform-error.ts';
import type { StateChange } from '../../time/state-change.ts';
import { drawPicture } from './draw-picture.ts';
import { writeTicket } from './pairing-ticket.ts';

/** A code that the owner may type. */
export interface PairingCode {
  /** Without the hyphen. */
  readonly code: string;
  /** Digits of the number it was asked for. */
  readonly phoneNumber: string;
  /** Virtual epoch ms; from then on it is void. */
  readonly expiresAt: number;
}

/** How the owner of a connection can pair now. */
export interface PairingSession {
  readonly secret: Uint8Array;
  readonly code: PairingCode | null;
  /** Virtual epoch ms of the latest requests for a code, oldest first. */
  readonly codeRequests: readonly number[];
}

interface Row {
  secret: Uint8Array;
  code: string | null;
  code_phone: string | null;
  code_expires_at: number | null;
  code_requests: number[];
}

const SECRET_BYTES = 32;

/**
 * Begins a pairing session, or builds it anew: pictures and codes shown so far are void. How often codes were
 * asked for is not forgotten, or a restart would lift the cap.
 */
export async function beginPairing({ tx }: StateChange, connectionId: string): Promise<void> {
  await tx.query(
    `INSERT INTO platform.pairing_sessions (connection_id, secret, code, code_phone, code_expires_at, code_requests)
     VALUES ($1, $2, NULL, NULL, NULL, '{}')
     ON CONFLICT (connection_id) DO UPDATE SET secret = excluded.secret, code = NULL, code_phone = NULL,
       code_expires_at = NULL`,
    [connectionId, randomBytes(SECRET_BYTES)],
  );
}

/** The pairing session of a connection. Throws `not_found` for one that is gone or never pairs. */
export async function readPairing(db: Queryable, connectionId: string): Promise<PairingSession> {
  const [row] = await db.query<Row>(
    `SELECT secret, code, code_phone, code_expires_at, code_requests
     FROM platform.pairing_sessions WHERE connection_id = $1`,
    [connectionId],
  );
  if (row === undefined) throw new PlatformError('not_found', { why: 'the connection is gone' });
  const { code, code_phone: phoneNumber, code_expires_at: expiresAt } = row;
  const isComplete = code !== null && phoneNumber !== null && expiresAt !== null;
  return {
    secret: row.secret,
    code: isComplete ? { code, phoneNumber, expiresAt } : null,
    codeRequests: row.code_requests,
  };
}

/** Writes when codes were asked for, and the newest code; without one the code before stays. */
export async function writeCode(
  { tx }: StateChange,
  connectionId: string,
  codeRequests: readonly number[],
  code: PairingCode | null,
): Promise<void> {
  await tx.query(
    `UPDATE platform.pairing_sessions SET code_requests = $2::bigint[], code = coalesce($3, code),
       code_phone = coalesce($4, code_phone), code_expires_at = coalesce($5::bigint, code_expires_at)
     WHERE connection_id = $1`,
    [connectionId, codeRequests, code?.code ?? null, code?.phoneNumber ?? null, code?.expiresAt ?? null],
  );
}

/** A fresh picture to scan, good for 20 s of virtual time. [connections.get.qr-new] */
export function showPicture(connectionId: string, { secret }: PairingSession, now: number): string {
  return drawPicture(writeTicket(connectionId, secret, now));
}
