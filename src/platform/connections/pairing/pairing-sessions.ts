import { randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { Queryable } from '../../../runtime/database/database.ts';
import { orm } from '../../../runtime/database/orm.ts';
import { pairingSessions } from '../../db/pairing-tables.ts';
import { PlatformError } from '../../kernel/platform-error.ts';
import type { StateChange } from '../../time/state-change.ts';
import { drawPicture } from './draw-picture.ts';
import { writeTicket } from './pairing-ticket.ts';

/** A code that the owner may type. */
export interface PairingCode {
  /** Without the hyphen. */
  readonly code: string;
  /** Digits of the number for which it was requested. */
  readonly phoneNumber: string;
  /** Virtual epoch ms at which it becomes invalid. */
  readonly expiresAt: number;
}

/** The present pairing session of a connection. */
export interface PairingSession {
  readonly secret: Uint8Array;
  readonly code: PairingCode | null;
  /** Virtual epoch ms of the latest requests for a code, oldest first. */
  readonly codeRequests: readonly number[];
}

const SECRET_BYTES = 32;

/**
 * Starts a new pairing session, which invalidates earlier QR codes and pairing codes. The times of code requests are
 * kept; otherwise a restart would reset the cap.
 */
export async function beginPairing({ tx }: StateChange, connectionId: string): Promise<void> {
  const anew = { secret: randomBytes(SECRET_BYTES), code: null, codePhone: null, codeExpiresAt: null };
  await orm(tx)
    .insert(pairingSessions)
    .values({ connectionId, ...anew, codeRequests: [] })
    .onConflictDoUpdate({ target: pairingSessions.connectionId, set: anew });
}

/** The pairing session of a connection. Throws `not_found` for one that was deleted or never pairs. */
export async function readPairing(db: Queryable, connectionId: string): Promise<PairingSession> {
  const [row] = await orm(db)
    .select()
    .from(pairingSessions)
    .where(eq(pairingSessions.connectionId, connectionId));
  if (row === undefined) throw new PlatformError('not_found', { why: 'the connection was deleted' });
  const { secret, code, codePhone: phoneNumber, codeExpiresAt: expiresAt, codeRequests } = row;
  const isComplete = code !== null && phoneNumber !== null && expiresAt !== null;
  return { secret, code: isComplete ? { code, phoneNumber, expiresAt } : null, codeRequests };
}

/** Writes the times of code requests and the newest code; without a code, the previous one remains. */
export async function writeCode(
  { tx }: StateChange,
  connectionId: string,
  codeRequests: readonly number[],
  code: PairingCode | null,
): Promise<void> {
  await orm(tx)
    .update(pairingSessions)
    .set({ codeRequests, code: code?.code, codePhone: code?.phoneNumber, codeExpiresAt: code?.expiresAt })
    .where(eq(pairingSessions.connectionId, connectionId));
}

/** A new QR code, valid for 20 s of virtual time. [connections.get.qr-new] */
export function showPicture(connectionId: string, { secret }: PairingSession, now: number): string {
  return drawPicture(writeTicket(connectionId, secret, now));
}
