import type { ConnectionListAnswer } from '../../contract/service/connections.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Credential } from '../credentials/credential.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { toListItem } from './connection-view.ts';
import { readVisible } from './read-connections.ts';

/** Dependencies of the list. */
export interface ListConnectionsContext {
  readonly database: Queryable;
  readonly clock: DomainClock;
  /** URL of the picture for numbers without one. */
  readonly neutralPicture: () => string;
}

/** The connections that are visible to a credential now. */
export async function listConnections(
  { database, clock, neutralPicture }: ListConnectionsContext,
  credential: Credential,
): Promise<ConnectionListAnswer> {
  const visible = await readVisible(database, credential, clock.now());
  const picture = neutralPicture();
  return { connections: visible.map((connection) => toListItem(connection, picture)) };
}
