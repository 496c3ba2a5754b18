import type { PageRange } from '../../src/platform/messages/read-page.ts';
import type { Database } from '../../src/runtime/database/database.ts';
import type { FilledDatabase } from './fill-messages.ts';

/** Messages of a page, as `GET /messages?limit=100` gives them. */
const PAGE = 100;
/** The service reads one more than it shows, to know whether there are more. */
const LIMIT = PAGE + 1;

export const SELECTIONS = [
  { name: 'every connection', of: ({ busy, quiet }: FilledDatabase) => [...quiet, ...busy] },
  { name: '`connectionId` given', of: ({ busy }: FilledDatabase) => busy.slice(0, 1) },
  { name: 'a key for 2 of 20', of: ({ quiet }: FilledDatabase) => quiet },
] as const;

export const PLACES = ['first', 'middle', 'last'] as const;
export type Place = (typeof PLACES)[number];

/** One page to read, and how many rows it must have. */
export interface PageCase {
  readonly name: string;
  readonly range: PageRange;
  readonly expected: number;
}

/** The pages that are measured, in the same order for every database. */
export async function listCases(filled: FilledDatabase): Promise<PageCase[]> {
  const cases: PageCase[] = [];
  for (const { name, of } of SELECTIONS) {
    const connectionIds = of(filled);
    for (const place of PLACES) {
      const below = await positionOf(filled, connectionIds, place);
      cases.push({
        name: `${place} page, ${name}`,
        range: { workspaceId: filled.workspaceId, connectionIds, below, limit: LIMIT },
        expected: place === 'last' ? PAGE : LIMIT,
      });
    }
  }
  return cases;
}

async function positionOf(
  { database, rows }: FilledDatabase,
  connectionIds: readonly string[],
  place: Place,
): Promise<number> {
  if (place === 'first') return Number.MAX_SAFE_INTEGER;
  if (place === 'middle') return Math.floor(rows / 2);
  const [row] = await database.query<{ position: number }>(
    `SELECT position FROM platform.messages WHERE connection_id = ANY($1::text[])
     ORDER BY position OFFSET $2 LIMIT 1`,
    [connectionIds, PAGE],
    { deadlineMs: 60_000 },
  );
  return row?.position ?? 0;
}

/** The ids of a page by a statement that nobody has tuned. */
export async function readPlainly(database: Database, range: PageRange): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `SELECT id FROM platform.messages WHERE connection_id = ANY($1::text[]) AND position < $2
     ORDER BY position DESC LIMIT $3`,
    [range.connectionIds, range.below, range.limit],
    { deadlineMs: 60_000 },
  );
  return rows.map(({ id }) => id);
}
