import { connections } from './account-tables.ts';

/* What a change tells of a connection, and what makes it worth telling: pieces of the statements that write one. */

/** The fields of a connection in a change. Times are epoch ms; readers present them. */
const FIELDS = [
  'phoneNumber',
  'label',
  'provider',
  'tier',
  'status',
  'needsReconnect',
  'licenseValid',
  'licenseStatus',
  'licenseExpires',
  'licenseNotice',
  'reason',
  'isDefault',
  'profilePicUrl',
  'customerRef',
  'visible',
  'deletedAt',
] as const;
const COLUMNS = FIELDS.map((name) => ({ name, column: connections[name].name }));

/** A connection as it is now, from the row `c`. */
export const CONNECTION_DATA = `jsonb_build_object(${COLUMNS.map(
  ({ name, column }) => `'${name}', c.${column}`,
).join(', ')})`;

/** The list calls a live connection `open`, its events and the detail `connected`: the word changes nothing. */
const spelled = (row: string): string =>
  `CASE WHEN ${row}.status = 'open' THEN 'connected' ELSE ${row}.status END`;

const differs = (column: string, after: string, before: string): string =>
  column === 'status'
    ? `${spelled(after)} IS DISTINCT FROM ${spelled(before)}`
    : `${after}.${column} IS DISTINCT FROM ${before}.${column}`;

/** The names of the fields that differ between two rows, as a JSON array; empty: there is nothing to tell. */
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
