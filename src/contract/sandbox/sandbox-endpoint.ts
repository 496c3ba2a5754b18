import type { EndpointDefinition } from '../schema/endpoint.ts';
import type { ErrorCode } from '../service/errors.ts';
import type { SandboxErrorCode } from './errors.ts';

/** If the simulated service rejects something, the error keeps the service's code. */
type Code = SandboxErrorCode | ErrorCode;

/** An endpoint of the control API. */
export type SandboxEndpoint = EndpointDefinition<Code>;

/** An endpoint as it is written: `errors` are those that do not follow from the rest. */
type WrittenEndpoint = Omit<SandboxEndpoint, 'errors'> & { readonly errors?: readonly Code[] };

/** The errors that follow from what an endpoint takes. */
function usualErrors({ method, path, query }: WrittenEndpoint): readonly Code[] {
  const writes = method !== 'GET' && method !== 'DELETE';
  return [
    'foreign_origin',
    'internal_error',
    ...(writes || query !== undefined ? (['invalid_request'] as const) : []),
    ...(writes ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(path.includes('{id}') ? (['not_found'] as const) : []),
  ];
}

/** Endpoints with all of their errors. */
export function defineEndpoints<const Written extends Readonly<Record<string, WrittenEndpoint>>>(
  written: Written,
): { readonly [Name in keyof Written]: Omit<Written[Name], 'errors'> & Pick<SandboxEndpoint, 'errors'> } {
  const complete = Object.entries(written).map(([name, { errors = [], ...endpoint }]) => [
    name,
    { ...endpoint, errors: [...usualErrors(endpoint), ...errors] },
  ]);
  return Object.fromEntries(complete);
}
