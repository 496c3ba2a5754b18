import { z } from 'zod';
import type { RefusalDefinition } from '../endpoint.ts';

/** Codes of the control API's own refusals. What the simulated service refuses keeps the service's code. */
export const SANDBOX_ERRORS = {
  invalid_request: { status: 400, meaning: 'The input is wrong; `field` names the key.' },
  foreign_origin: { status: 403, meaning: '`Host` or `Origin` is not this machine.' },
  not_found: { status: 404, meaning: 'No such address, or nothing with this id.' },
  method_not_allowed: { status: 405, meaning: 'The address does not take this method.' },
  qr_expired: { status: 409, meaning: 'The picture is no longer on offer; show the newest one.' },
  code_expired: { status: 409, meaning: 'No such pairing code is on offer.' },
  wrong_state: { status: 409, meaning: 'What it concerns cannot do this in its present state.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than the sandbox takes.' },
  unsupported_media_type: { status: 415, meaning: 'A write takes `application/json` only.' },
  internal_error: { status: 500, meaning: 'The sandbox failed; the log says more.' },
  connector_unreachable: { status: 502, meaning: 'The attached connector does not answer.' },
} as const satisfies Readonly<Record<string, RefusalDefinition>>;

export type SandboxErrorCode = keyof typeof SANDBOX_ERRORS;

/** The body of every refusal: a code for programs, a sentence for people, and the field where there is one. */
export const sandboxErrorBody = z.object({
  error: z.string().min(1).describe('Machine-readable code.'),
  message: z.string().min(1).describe('What is wrong, and what to do about it.'),
  field: z.string().optional().describe('Offending key of the body or query.'),
});
export type SandboxErrorBody = z.infer<typeof sandboxErrorBody>;
