import { Console } from 'node:console';

/** Prints the measurements of a campaign, one row per object. */
export function printTable(rows: readonly object[]): void {
  new Console(process.stdout).table(rows);
}
