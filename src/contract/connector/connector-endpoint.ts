import type { EndpointDefinition } from '../endpoint.ts';
import type { ErrorCode } from '../service/errors.ts';
import type { ConnectorErrorCode } from './errors.ts';

/** An endpoint of the connector. Calls that pass on to the service may answer the service's codes. */
export type ConnectorEndpoint = EndpointDefinition<ConnectorErrorCode | ErrorCode>;

/** What every endpoint under `/v1` can answer, before it looks at the request. */
export const API_ERRORS = ['unauthorized', 'unavailable', 'internal_error'] as const;

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
