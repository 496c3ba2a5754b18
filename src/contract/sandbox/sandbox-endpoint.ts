import type { EndpointDefinition } from '../endpoint.ts';
import type { ErrorCode } from '../service/errors.ts';
import type { SandboxErrorCode } from './errors.ts';

/** An endpoint of the control API. What the simulated service refuses keeps the service's code. */
export type SandboxEndpoint = EndpointDefinition<SandboxErrorCode | ErrorCode>;

/** What every endpoint can answer. */
export const READ_ERRORS = ['foreign_origin', 'internal_error'] as const;

/** What every endpoint that writes can answer. */
export const WRITE_ERRORS = [
  ...READ_ERRORS,
  'invalid_request',
  'payload_too_large',
  'unsupported_media_type',
] as const;
