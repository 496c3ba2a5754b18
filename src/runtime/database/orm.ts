import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import { drizzle } from 'drizzle-orm/postgres-js';
import type { Sql } from 'postgres';
import type { RowMode } from './session.ts';
import type { TransactionScope } from './transaction.ts';

/** The client that drizzle's statements run on. */
export interface OrmRunner {
  run(text: string, params: readonly unknown[], mode: RowMode): Promise<unknown[]>;
  transaction<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T>;
}

/** A statement that starts when it is awaited, in the row mode selected until then. */
function lazyStatement(start: (mode: RowMode) => Promise<unknown[]>): object {
  return {
    values: () => start('arrays'),
    // biome-ignore lint/suspicious/noThenProperty: drizzle awaits what the driver returns.
    then: (resolve: (rows: unknown[]) => unknown, reject: (error: unknown) => unknown) =>
      start('objects').then(resolve, reject),
  };
}

type Unsafe = (text: string, params?: readonly unknown[]) => object;

function unsafeOn(run: OrmRunner['run']): Unsafe {
  return (text, params = []) => lazyStatement((mode) => run(text, params, mode));
}

function scopeClient(scope: TransactionScope): object {
  return {
    unsafe: unsafeOn((text, params, mode) => scope.run(text, params, mode)),
    savepoint: <T>(work: (client: object) => Promise<T>) =>
      scope.savepoint((inner) => work(scopeClient(inner))),
  };
}

/**
 * drizzle over the guarded pool. It gets only the driver methods that it calls, so that its statements have
 * the same deadlines, transactions and value rules as all others. (On the driver itself it would also replace
 * the parsers that everything else relies on.)
 */
export function openOrm(runner: OrmRunner): PostgresJsDatabase {
  const client = {
    options: { parsers: {}, serializers: {} },
    unsafe: unsafeOn((text, params, mode) => runner.run(text, params, mode)),
    begin: <T>(work: (client: object) => Promise<T>) =>
      runner.transaction((scope) => work(scopeClient(scope))),
  };
  return drizzle(client as unknown as Sql);
}
