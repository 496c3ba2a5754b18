import type { Queryable } from '../../src/runtime/database/database.ts';

/** A statement that runs for every delivery, poll, send or call, or every second in every process. */
export interface HotStatement {
  /** Runs it as the program does, on a handle that records it. */
  readonly run: (db: Queryable) => Promise<unknown>;
  /** The indexes by which it finds its rows in large tables. Absent: it reads what its text names. */
  readonly indexes?: readonly string[];
  /** Larger tables that it reads whole, which it does every few seconds. */
  readonly whole?: readonly string[];
}

/** A statement as it is sent. */
export interface SentStatement {
  readonly text: string;
  readonly params: readonly unknown[];
}

/** The first statement that `run` sends. It gets no answer, so that nothing follows. */
export async function sentBy(run: HotStatement['run']): Promise<SentStatement> {
  let first: SentStatement | undefined;
  const query: Queryable['query'] = async (text, params = []) => {
    first ??= { text, params };
    throw new Error('recorded, not run');
  };
  await run({ query }).catch(() => undefined);
  if (first === undefined) throw new Error('nothing was sent');
  return first;
}

/** A node of a plan. */
export interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly Plan[];
}

/** A plan's node and all below it. */
export const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** All nodes of the plan of a statement. */
export async function explain(db: Queryable, { text, params }: SentStatement): Promise<Plan[]> {
  const [row] = await db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`EXPLAIN (FORMAT JSON) ${text}`, params);
  if (row === undefined) throw new Error('no plan');
  return nodesOf(row['QUERY PLAN'][0].Plan);
}

/** A statement for a file: one entry for each line where a line would be too long to review. */
export function formatStatement(text: string): string {
  return `${text
    .trim()
    .split('\n')
    .map((line) =>
      line.length <= 120 ? line : line.replaceAll(', ', `,\n${/^ */.exec(line)?.[0] ?? ''}    `),
    )
    .join('\n')}\n`;
}
