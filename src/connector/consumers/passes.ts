import type { Change } from '../../contract/connector/changes.ts';
import type { ConsumerFilter } from '../../contract/connector/consumers.ts';

/** True for a change that a consumer with this filter receives. */
export function passes(change: Change, { types, directions, connectionIds }: ConsumerFilter): boolean {
  const direction = 'direction' in change.data ? change.data.direction : null;
  return (
    (types === undefined || types.includes(change.type)) &&
    (directions === undefined || direction === null || directions.includes(direction)) &&
    (connectionIds === undefined || connectionIds.includes(change.connectionId))
  );
}
