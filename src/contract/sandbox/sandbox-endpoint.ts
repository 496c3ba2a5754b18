import type { EndpointDefinition } from '../schema/endpoint.ts';
import type { ErrorCode } from '../service/errors.ts';
import type { SandboxErrorCode } from './errors.ts';

/**
 * An endpoint of the control API. If the simulated service rejects something, the error keeps the service's
 * code.
 */
export type SandboxEndpoint = EndpointDefinition<SandboxErrorCode | ErrorCode>;

/** Errors that every endpoint can return. */
export const READ_ERRORS = ['foreign_origin', 'internal_error'] as const;

/** Errors that every endpoint that writes can return. */
export const WRITE_ERRORS = [
  ...READ_ERRORS,
  'invalid_request',
  'payload_too_large',
  'unsupported_media_type',
] as const;
