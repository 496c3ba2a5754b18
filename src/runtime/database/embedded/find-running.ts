import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { findStorage } from './placement.ts';
import { findPostmaster } from './postmaster.ts';

/** The content of a data folder: nothing, data whose server is not running, or a running server. */
export type FoundPostgres =
  | { readonly kind: 'absent' }
  | { readonly kind: 'stopped'; readonly location: string }
  | { readonly kind: 'running'; readonly location: string; readonly url: string };

/** Looks for the embedded Postgres of a data folder without starting, joining or changing anything. */
export async function findEmbeddedPostgres(dataDir: string): Promise<FoundPostgres> {
  const home = await realpath(join(dataDir, 'postgres')).catch(() => undefined);
  const location = home && (await findStorage(home));
  if (home === undefined || location === undefined) return { kind: 'absent' };
  const server = await findPostmaster(join(location, 'cluster'));
  const password = await readFile(join(home, 'password'), 'utf8').catch(() => '');
  if (server === undefined || password === '') return { kind: 'stopped', location };
  return { kind: 'running', location, url: serverUrl(password, server.port) };
}

export function serverUrl(password: string, port: number): string {
  return `postgres://postgres:${password.trim()}@127.0.0.1:${port}/postgres`;
}
