import { createHmac, randomBytes } from 'node:crypto';
import { LIMITS } from '../../../contract/service/limits.ts';
import { equalSecrets } from '../../../runtime/sealing/equal-secrets.ts';

/** The content of a QR code for pairing, not yet verified. */
export interface PairingTicket {
  readonly connectionId: string;
  /** Virtual epoch ms. */
  readonly issuedAt: number;
  /** The signed text. */
  readonly signed: string;
  readonly signature: string;
}

/** Only capitals, digits, `:` and `.`: QR codes encode these most compactly. */
const TICKET = /^((?:PAIR):([0-9A-Z]{25})\.([0-9A-Z]{1,10})\.[0-9A-F]{8})\.([0-9A-F]{32})$/;
const SIGNATURE_DIGITS = 32;

function sign(secret: Uint8Array, signed: string): string {
  return createHmac('sha256', secret).update(signed).digest('hex').slice(0, SIGNATURE_DIGITS).toUpperCase();
}

/** A new, unique ticket: connection, time and nonce, signed with the pairing session's secret. */
export function writeTicket(connectionId: string, secret: Uint8Array, now: number): string {
  const nonce = randomBytes(4).toString('hex').toUpperCase();
  const signed = `PAIR:${connectionId.toUpperCase()}.${Math.trunc(now).toString(36).toUpperCase()}.${nonce}`;
  return `${signed}.${sign(secret, signed)}`;
}

/** Parses the text of a QR code; null if it is not a ticket. */
export function readTicket(text: string): PairingTicket | null {
  const [, signed, id, time, signature] = TICKET.exec(text) ?? [];
  if (signed === undefined || id === undefined || time === undefined || signature === undefined) return null;
  return { connectionId: id.toLowerCase(), issuedAt: Number.parseInt(time, 36), signed, signature };
}

/**
 * Whether a ticket is valid at a virtual time: signed by the present pairing session, and at most 20 s old.
 * [limits.qr-rotation] [connections.create.rotation] [choice.qr.earlier]
 */
export function isGoodTicket(ticket: PairingTicket, secret: Uint8Array, now: number): boolean {
  const age = now - ticket.issuedAt;
  return age >= 0 && age < LIMITS.qrRotationMs && equalSecrets(ticket.signature, sign(secret, ticket.signed));
}
