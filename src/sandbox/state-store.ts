import { eq } from 'drizzle-orm';
import type { z } from 'zod';
import { sandboxState } from '../platform/db/sandbox-tables.ts';
import type { Queryable } from '../runtime/database/database.ts';
import { orm } from '../runtime/database/orm.ts';

/** A value that the sandbox keeps across restarts. */
export interface StoredValue<Value> {
  /** Null if none was saved, or one that no longer matches the schema. */
  load(): Promise<Value | null>;
  save(value: Value): Promise<void>;
  forget(): Promise<void>;
}

/** A named value in the sandbox's table, stored as JSON and checked with a schema. */
export function storeValue<Schema extends z.ZodType>(
  database: Queryable,
  name: string,
  schema: Schema,
): StoredValue<z.output<Schema>> {
  const isIt = eq(sandboxState.name, name);
  return {
    async load() {
      const [row] = await orm(database).select({ value: sandboxState.value }).from(sandboxState).where(isIt);
      return row === undefined ? null : (schema.safeParse(JSON.parse(row.value)).data ?? null);
    },
    async save(value) {
      const text = JSON.stringify(value);
      await orm(database)
        .insert(sandboxState)
        .values({ name, value: text })
        .onConflictDoUpdate({ target: sandboxState.name, set: { value: text } });
    },
    async forget() {
      await orm(database).delete(sandboxState).where(isIt);
    },
  };
}
