import type { z } from 'zod';
import type { Queryable } from '../runtime/database/database.ts';

/** A value that the sandbox finds again after a restart. */
export interface StoredValue<Value> {
  /** Null when none was saved, or one that no longer fits. */
  load(): Promise<Value | null>;
  save(value: Value): Promise<void>;
  forget(): Promise<void>;
}

/** A named value in the sandbox's own table, as JSON of a shape. */
export function storeValue<Schema extends z.ZodType>(
  database: Queryable,
  name: string,
  schema: Schema,
): StoredValue<z.output<Schema>> {
  return {
    async load() {
      const [row] = await database.query<{ value: string }>(
        'SELECT value FROM platform.sandbox_state WHERE name = $1',
        [name],
      );
      return row === undefined ? null : (schema.safeParse(JSON.parse(row.value)).data ?? null);
    },
    async save(value) {
      await database.query(
        `INSERT INTO platform.sandbox_state (name, value) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
        [name, JSON.stringify(value)],
      );
    },
    async forget() {
      await database.query('DELETE FROM platform.sandbox_state WHERE name = $1', [name]);
    },
  };
}
