import type { RawInput } from './endpoint.ts';

/** The id in the path of a connection's endpoint; one that cannot be an id is unknown like any other. */
export function readConnectionId({ params }: Pick<RawInput, 'params'>): string {
  const { id = '' } = params;
  return String(id);
}
