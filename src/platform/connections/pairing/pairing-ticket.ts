import { createHmac, randomBytes } from 'node:crypto';
import { LIMITS } from '../../../contract/service/limits.ts';
import { equalSecrets } from '../../../runtime/sealing/equal-secrets.ts';

/** What a pairing picture says, before anyone believes it. */
export interface PairingTicket {
  readonly connectionId: string;
  /** Virtual epoch ms. */
  readonly issuedAt: number;
  /** Everything that is signed. */
  readonly signed: string;
  readonly signature: string;
}

/** Capitals, digits, `:` and `.` alone: the densest alphabet of a QR picture. */
const TICKET = /^((?:PAIR):([0-9A-Z]{25})\.([0-9A-Z]{1,10})\.[0-9A-F]{8})\.([0-9A-F]{32})$/;
const SIGNATURE_DIGITS = 32;

function sign(secret: Uint8Array, signed: string): string {
  return createHmac('sha256', secret).update(signed).digest('hex').slice(0, SIGNATURE_DIGITS).toUpperCase();
}

/** A new ticket: connection, time and a nonce, so that no two are alike, signed with the pairing session's secret. */
export function writeTicket(connectionId: string, secret: Uint8Array, now: number): string {
  const nonce = randomBytes(4).toString('hex').toUpperCase();
  const signed = `PAIR:${connectionId.toUpperCase()}.${Math.trunc(now).toString(36).toUpperCase()}.${nonce}`;
  return `${signed}.${sign(secret, signed)}`;
}

/** Reads what a picture says; null for what is no ticket. */
export function readTicket(text: string): PairingTicket | null {
  const [, signed, id, time, signature] = TICKET.exec(text) ?? [];
  if (signed === undefined || id === undefined || time === undefined || signature === undefined) return null;
  return { connectionId: id.toLowerCase(), issuedAt: Number.parseInt(time, 36), signed, signature };
}

/**
 * Whether the network takes a ticket at a virtual time: signed by the present pairing session and not older
 * than the 20 s for which it is shown. [limits.qr-rotation] [connections.create.rotation] [choice.qr.earlier]
 */
export function isGoodTicket(ticket: PairingTicket, secret: Uint8Array, now: number): boolean {
  const age = now - ticket.issuedAt;
  return age >= 0 && age < LIMITS.qrRotationMs && equalSecrets(ticket.signature, sign(secret, ticket.signed));
}
