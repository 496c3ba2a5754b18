import { z } from 'zod';
import type { RefusalDefinition } from '../schema/endpoint.ts';

/**
 * The control API's own error codes. If the simulated service rejects something, the error keeps the
 * service's code.
 */
export const SANDBOX_ERRORS = {
  invalid_request: { status: 400, meaning: 'The input is invalid; `field` names the key.' },
  foreign_origin: { status: 403, meaning: '`Host` or `Origin` does not belong to this machine.' },
  not_found: { status: 404, meaning: 'The path does not exist, or no object has this id.' },
  method_not_allowed: { status: 405, meaning: 'The path does not support this method.' },
  qr_expired: { status: 409, meaning: 'The QR code has expired; scan the newest one.' },
  code_expired: { status: 409, meaning: 'No connection has this pairing code.' },
  wrong_state: { status: 409, meaning: 'The current state of the object does not allow this.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than the sandbox accepts.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'Requests that write must have the content type `application/json`.',
  },
  internal_error: { status: 500, meaning: 'The sandbox failed; see its log.' },
  service_unreachable: {
    status: 502,
    meaning: 'The service does not respond, or a fault has reset the connection.',
  },
  connector_unreachable: { status: 502, meaning: 'The attached connector does not respond.' },
} as const satisfies Readonly<Record<string, RefusalDefinition>>;

export type SandboxErrorCode = keyof typeof SANDBOX_ERRORS;

/** The body of every error: a code for programs, a message for people, and the field if there is one. */
export const sandboxErrorBody = z.object({
  error: z.string().min(1).describe('Machine-readable code.'),
  message: z.string().min(1).describe('What is wrong, and what to do about it.'),
  field: z.string().optional().describe('The key of the body or query that is invalid.'),
});
export type SandboxErrorBody = z.infer<typeof sandboxErrorBody>;
