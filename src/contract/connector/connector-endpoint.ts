import type { EndpointDefinition } from '../endpoint.ts';
import type { ErrorCode } from '../service/errors.ts';
import type { ConnectorErrorCode } from './errors.ts';
import type { Right } from './rights.ts';

/**
 * An endpoint of the connector: it names the right that a token needs, or takes no token. Calls that pass on to the
 * service may answer the service's codes.
 */
export type ConnectorEndpoint = EndpointDefinition<ConnectorErrorCode | ErrorCode> &
  ({ readonly right: Right } | { readonly credential: false });

/** What every endpoint under `/v1` can answer, before it looks at the request. */
export const API_ERRORS = ['unauthorized', 'missing_right', 'unavailable', 'internal_error'] as const;

/** What an endpoint with a body can answer besides. */
export const BODY_ERRORS = ['invalid_request', 'payload_too_large'] as const;

/** What an endpoint that calls the service can answer besides. */
export const SERVICE_CALL_ERRORS = [
  'account_required',
  'reauth_required',
  'service_refused',
  'service_unreachable',
  'rate_limited',
] as const;
