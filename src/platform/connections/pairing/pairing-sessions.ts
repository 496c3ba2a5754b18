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

const SECRET_BYTES = 32;

/**
 * Begins a pairing session, or builds it anew: pictures and codes shown so far are void. How often codes were
 * asked for is not forgotten, or a restart would lift the cap.
 */
export async function beginPairing({ tx }: StateChange, connectionId: string): Promise<void> {
  const anew = { secret: randomBytes(SECRET_BYTES), code: null, codePhone: null, codeExpiresAt: null };
  await orm(tx)
    .insert(pairingSessions)
    .values({ connectionId, ...anew, codeRequests: [] })
    .onConflictDoUpdate({ target: pairingSessions.connectionId, set: anew });
}

/** The pairing session of a connection. Throws `not_found` for one that is gone or never pairs. */
export async function readPairing(db: Queryable, connectionId: string): Promise<PairingSession> {
  const [row] = await orm(db)
    .select()
    .from(pairingSessions)
    .where(eq(pairingSessions.connectionId, connectionId));
  if (row === undefined) throw new PlatformError('not_found', { why: 'the connection is gone' });
  const { secret, code, codePhone: phoneNumber, codeExpiresAt: expiresAt, codeRequests } = row;
  const isComplete = code !== null && phoneNumber !== null && expiresAt !== null;
  return { secret, code: isComplete ? { code, phoneNumber, expiresAt } : null, codeRequests };
}

/** Writes when codes were asked for, and the newest code; without one the code before stays. */
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

/** A fresh picture to scan, good for 20 s of virtual time. [connections.get.qr-new] */
export function showPicture(connectionId: string, { secret }: PairingSession, now: number): string {
  return drawPicture(writeTicket(connectionId, secret, now));
}
