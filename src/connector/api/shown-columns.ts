import { getTableColumns, type Table } from 'drizzle-orm';
import type { z } from 'zod';

type ColumnsOf<T extends Table> = T['_']['columns'];

/** The columns of a table that a shape of the contract has, too, so a field of both is not named a third time. */
export function shownColumns<T extends Table, Shape extends z.ZodRawShape>(
  table: T,
  { shape }: z.ZodObject<Shape>,
): Pick<ColumnsOf<T>, Extract<keyof ColumnsOf<T>, keyof Shape>> {
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => name in shape);
  return Object.fromEntries(columns) as ColumnsOf<T>;
}
