import { z } from 'zod';

/** One row of the error table. */
export interface ErrorDefinition {
  /** HTTP statuses that can carry this code. */
  readonly statuses: readonly number[];
  /** One sentence for people. */
  readonly meaning: string;
}

/**
 * Every code in `{ error: <code> }`. The codes from `invalid_token` on are our choice for generic responses
 * that the specification leaves open. What a send does after each of them is in `patterns/send-policy`.
 */
export const ERRORS = {
  invalid_request: {
    statuses: [400], // [errors.invalid_request]
    meaning: 'The input is invalid; `field` names the key, and `hint` may explain the error.',
  },
  invalid_phone_number: {
    statuses: [400], // [errors.invalid_phone_number]
    meaning: '`phoneNumber` must contain only international digits, without a plus sign.',
  },
  invalid_webhook: {
    statuses: [400], // [errors.invalid_webhook]
    meaning: 'The webhook URL is not an HTTPS URL on a public host, or no webhook is set yet.',
  },
  text_or_media: {
    statuses: [400], // [errors.text_or_media]
    meaning: 'A send must have exactly one of `text` and `media`.',
  },
  idempotency_key_reuse: {
    statuses: [400], // [errors.idempotency_key_reuse]
    meaning: 'The idempotency key was used with a different body in the last 24 hours.',
  },
  idempotency_key_invalid: {
    statuses: [400], // [errors.idempotency_key_invalid]
    meaning: 'The idempotency key is longer than 255 characters.',
  },
  invalid_key: {
    statuses: [401], // [errors.invalid_key]
    meaning: 'The API key is missing, unknown or revoked.',
  },
  addon_required: {
    statuses: [402], // [errors.addon_required]
    meaning: 'The connection of this portal workspace has no active API add-on.',
  },
  license_inactive: {
    statuses: [402], // [errors.license_inactive]
    meaning: 'The license of the connection has lapsed.',
  },
  ip_not_allowed: {
    statuses: [403], // [errors.ip_not_allowed]
    meaning: "The caller's address is not on the key's allowlist, or cannot be determined.",
  },
  insufficient_scope: {
    statuses: [403], // [errors.insufficient_scope]
    meaning: 'The credential lacks the scope that this endpoint requires.',
  },
  forbidden_portal_kind: {
    statuses: [403], // [errors.forbidden_portal_kind]
    meaning: 'In a portal workspace, connections are created by the admin, not through the API.',
  },
  invalid_grant: {
    statuses: [403], // [errors.invalid_grant]
    meaning: 'The grant of this credential no longer covers any connection.',
  },
  already_connected: {
    statuses: [409], // [errors.already_connected]
    meaning: 'The session is live; there is nothing to pair.',
  },
  not_supported_for_provider: {
    statuses: [409], // [errors.not_supported_for_provider]
    meaning: 'Only `qr` connections support this operation.',
  },
  idempotency_in_progress: {
    statuses: [409], // [errors.idempotency_in_progress]
    meaning: 'The first create request with this key is still in flight.',
  },
  in_progress: {
    statuses: [409], // [errors.in_progress]
    meaning: 'The first send with this idempotency key is still in flight.',
  },
  recipient_not_on_whatsapp: {
    statuses: [422], // [errors.recipient_not_on_whatsapp]
    meaning: 'The recipient has no account on the network.',
  },
  warmup_limited: {
    statuses: [429], // [errors.warmup_limited]
    meaning: 'The hourly cap of a new number has been reached; wait several minutes.',
  },
  rate_limited: {
    statuses: [429], // [errors.rate_limited]
    meaning: 'Too many requests, or too many pairing codes for this connection.',
  },
  send_failed: {
    statuses: [502], // [errors.send_failed]
    meaning: 'The delivery failed for a reason other than the recipient.',
  },
  pairing_code_unavailable: {
    statuses: [502], // [errors.pairing_code_unavailable]
    meaning: 'The engine declined a pairing code; the QR code still works.',
  },
  invalid_token: {
    statuses: [401], // [errors.generic]
    meaning: 'The access token is expired or malformed.',
  },
  not_found: {
    statuses: [404],
    meaning: 'The path does not exist, or the credential can access no object with this id.',
  },
  method_not_allowed: {
    statuses: [405],
    meaning: 'The path does not support this method; `Allow` lists the methods that it supports.',
  },
  payload_too_large: {
    statuses: [413],
    meaning: 'The body is larger than the service accepts.',
  },
  internal_error: {
    statuses: [500],
    meaning: 'The service failed.',
  },
} as const satisfies Readonly<Record<string, ErrorDefinition>>;

/** A code of the table, as a union so that `switch` narrows it. */
export type ErrorCode = keyof typeof ERRORS;

/** All codes, in the order of the table. */
export const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

/** True for a code of the table. A response may carry a newer one. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERRORS, value);
}

/** The body of every error as the service writes it. [errors.body.code] */
export const errorBody = z.object({
  error: z.enum(ERROR_CODES).describe('Machine-readable code; clients branch on it, not only on the status.'),
  // [errors.body.field]
  field: z.string().optional().describe('The invalid input key; only with `invalid_request`.'),
  // [errors.body.hint]
  hint: z.string().optional().describe('Advice for people; only with `invalid_request`.'),
});
export type ErrorBody = z.infer<typeof errorBody>;

const readableErrorBody = z.object({
  error: z.string().min(1).max(128),
  field: z.string().max(255).optional().catch(undefined),
  hint: z.string().max(2048).optional().catch(undefined),
});

/** An error body as a client reads it: the code may be one that the table does not contain. */
export interface ReadErrorBody {
  readonly error: string;
  readonly field?: string | undefined;
  readonly hint?: string | undefined;
}

/**
 * Reads an error body; null if the value is not one (for example, the HTML page of a proxy). Never throws.
 */
export function readErrorBody(value: unknown): ReadErrorBody | null {
  const read = readableErrorBody.safeParse(value);
  return read.success ? read.data : null;
}
