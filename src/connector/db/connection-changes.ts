import type { Column } from 'drizzle-orm';
import type { ConnectionChangeData } from '../../contract/connector/changes.ts';
import { connections } from './account-tables.ts';

/*
 * The content of a change of a connection, and the condition for writing one: parts of the statements that
 * write changes.
 */

/** Fields of a change that do not correspond to a column of the connection. */
type NotStored = 'id' | 'accountId' | 'updatedAt' | 'changed';

/** The column of each field of a connection in a change. Times are epoch ms; `presentChange` formats them. */
const COLUMNS = Object.entries({
  phoneNumber: connections.phoneNumber,
  label: connections.label,
  provider: connections.provider,
  tier: connections.tier,
  status: connections.status,
  needsReconnect: connections.needsReconnect,
  licenseValid: connections.licenseValid,
  licenseStatus: connections.licenseStatus,
  licenseExpires: connections.licenseExpires,
  reason: connections.reason,
  isDefault: connections.isDefault,
  profilePicUrl: connections.profilePicUrl,
  customerRef: connections.customerRef,
  visible: connections.visible,
  deletedAt: connections.deletedAt,
} satisfies Record<Exclude<keyof ConnectionChangeData, NotStored>, Column>).map(
  ([name, { name: column }]) => ({
    name,
    column,
  }),
);

/** The current connection, from the row `c`. */
export const CONNECTION_DATA = `jsonb_build_object(${COLUMNS.map(
  ({ name, column }) => `'${name}', c.${column}`,
).join(', ')})`;

/**
 * The list calls a live connection `open`, its events and the detail call it `connected`: the difference is not
 * a change.
 */
const spelled = (row: string): string =>
  `CASE WHEN ${row}.status = 'open' THEN 'connected' ELSE ${row}.status END`;

const differs = (column: string, after: string, before: string): string =>
  column === 'status'
    ? `${spelled(after)} IS DISTINCT FROM ${spelled(before)}`
    : `${after}.${column} IS DISTINCT FROM ${before}.${column}`;

/** The names of the fields that differ between two rows, as a JSON array; if it is empty, no change is written. */
export function changedFields(after: string, before: string): string {
  const names = COLUMNS.map(
    ({ name, column }) => `CASE WHEN ${differs(column, after, before)} THEN '${name}' END`,
  );
  return `to_jsonb(array_remove(ARRAY[${names.join(', ')}], NULL))`;
}

/** The data of a change of the row `c`; `changed` is a JSON array, or NULL for a connection that was not known. */
export function connectionChange(changed: string): string {
  return `${CONNECTION_DATA} || jsonb_build_object('changed', ${changed})`;
}
