import { Console } from 'node:console';

/** Prints what a campaign measured, a row for each object, for whoever watches the run. */
export function printTable(rows: readonly object[]): void {
  new Console(process.stdout).table(rows);
}
