import type { Change } from '../../contract/connector/changes.ts';
import type { consumers } from '../db/consumer-tables.ts';
import { isHistoric } from './key.ts';

/** True for a change that this consumer receives. */
export function passes(
  change: Change,
  { filter, historic }: Pick<typeof consumers.$inferSelect, 'filter' | 'historic'>,
): boolean {
  const { types, directions, connectionIds } = filter;
  const direction = 'direction' in change.data ? change.data.direction : null;
  return (
    (historic !== 'skip' || !isHistoric(change)) &&
    (types === undefined || types.includes(change.type)) &&
    (directions === undefined || direction === null || directions.includes(direction)) &&
    (connectionIds === undefined || connectionIds.includes(change.connectionId))
  );
}
