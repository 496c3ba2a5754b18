import type { Queryable } from '../../../runtime/database/database.ts';
import { some } from '../../state/wording.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, ok, problem } from '../finding.ts';

interface Rights {
  readonly role: string;
  readonly readOnly: boolean;
  readonly createsTables: boolean;
  readonly ownsInbox: boolean;
  readonly refused: readonly string[];
}

/** The user may read and write the tables, create the daily partition of the inbox, and drop old ones. */
export const rightsCheck: Check<StoreCheckInput> = {
  id: 'rights',
  title: 'rights in the database',
  async run({ database }) {
    const rights = await readRights(database);
    if (rights.readOnly) {
      return problem('The database does not accept writes.', {
        evidence: ['default_transaction_read_only is on.'],
        advice: [
          'Set DATABASE_URL to the primary. Until then, deliveries are answered with 503; polling catches up afterwards.',
        ],
      });
    }
    const evidence: string[] = [];
    if (rights.refused.length > 0) evidence.push(`No full access to ${some(rights.refused)}.`);
    if (!rights.createsTables) evidence.push('No right to create tables in the schema connector.');
    if (!rights.ownsInbox) evidence.push('The table connector.inbox belongs to another user.');
    if (evidence.length === 0) return ok('The user has the rights that the connector needs.');
    return problem(`The user ${rights.role} lacks rights that the connector needs.`, {
      evidence,
      advice: [
        `Transfer the tables to it: REASSIGN OWNED BY the_owner TO "${rights.role}" (as the owner or a superuser), or use the owner in DATABASE_URL.`,
        'Partitions of the inbox are created and dropped every day, which only the owner of the table may do.',
      ],
    });
  },
};

async function readRights(db: Queryable): Promise<Rights> {
  const [row] = await db.query<Omit<Rights, 'refused'>>(
    `select current_user as role,
            current_setting('transaction_read_only') = 'on' as "readOnly",
            has_schema_privilege('connector', 'CREATE') as "createsTables",
            pg_has_role((select relowner from pg_class where oid = 'connector.inbox'::regclass), 'USAGE') as "ownsInbox"`,
  );
  const refused = await db.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'connector' and c.relkind in ('r', 'p')
        and not (has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'INSERT')
                 and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE'))
      order by c.relname`,
  );
  return {
    role: row?.role ?? '',
    readOnly: row?.readOnly === true,
    createsTables: row?.createsTables === true,
    ownsInbox: row?.ownsInbox === true,
    refused: refused.map(({ name }) => name),
  };
}
