import type { Queryable } from '../../runtime/database/database.ts';
import type { Credential } from './credential.ts';

/**
 * Puts a connection that a credential has just made on its list, or into its grant, if it has one: else its maker could never
 * show the picture to scan.
 */
export async function extendReach(
  tx: Queryable,
  { kind, id, connectionIds }: Credential,
  connectionId: string,
): Promise<void> {
  if (connectionIds === null) return;
  if (kind === 'oauth') {
    await tx.query(
      'UPDATE platform.oauth_grants SET connection_ids = array_append(connection_ids, $2) WHERE id = $1',
      [id, connectionId],
    );
    return;
  }
  await tx.query(
    `UPDATE platform.api_keys SET connection_ids = array_append(connection_ids, $2)
     WHERE id = $1 AND connection_ids IS NOT NULL`,
    [id, connectionId],
  );
}
