import type { EndpointDefinition } from '../schema/endpoint.ts';
import type { ErrorCode } from '../service/errors.ts';
import type { ConnectorErrorCode } from './errors.ts';
import type { Right } from './rights.ts';

/**
 * An endpoint of the connector. It names the right that a token needs, or takes no token. Calls that are
 * passed on to the service may return the service's error codes.
 */
export type ConnectorEndpoint = EndpointDefinition<ConnectorErrorCode | ErrorCode> &
  ({ readonly right: Right } | { readonly credential: false });

/** Errors that every endpoint under `/v1` can return before it processes the request. */
export const API_ERRORS = ['unauthorized', 'missing_right', 'unavailable', 'internal_error'] as const;

/** Further errors of an endpoint with a body. */
export const BODY_ERRORS = ['invalid_request', 'payload_too_large'] as const;

/** Further errors of an endpoint that calls the service. */
export const SERVICE_CALL_ERRORS = [
  'account_required',
  'reauth_required',
  'service_refused',
  'service_unreachable',
  'rate_limited',
] as const;
