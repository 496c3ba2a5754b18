import { eq } from 'drizzle-orm';
import type { z } from 'zod';
import { sandboxState } from '../platform/db/sandbox-tables.ts';
import type { Queryable } from '../runtime/database/database.ts';
import { orm } from '../runtime/database/orm.ts';

/** A named value that the sandbox keeps across restarts, in its table as JSON, checked with a schema. */
export function storeValue<Schema extends z.ZodType>(database: Queryable, name: string, schema: Schema) {
  const isIt = eq(sandboxState.name, name);
  return {
    /** Null if none was saved, or one that no longer matches the schema. */
    async load(): Promise<z.output<Schema> | null> {
      const [row] = await orm(database).select({ value: sandboxState.value }).from(sandboxState).where(isIt);
      return row === undefined ? null : (schema.safeParse(JSON.parse(row.value)).data ?? null);
    },
    async save(value: z.output<Schema>): Promise<void> {
      const text = JSON.stringify(value);
      await orm(database)
        .insert(sandboxState)
        .values({ name, value: text })
        .onConflictDoUpdate({ target: sandboxState.name, set: { value: text } });
    },
    async forget(): Promise<void> {
      await orm(database).delete(sandboxState).where(isIt);
    },
  };
}
