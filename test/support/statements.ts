import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Queryable } from '../../src/runtime/database/database.ts';

/** A statement that runs for every delivery, poll, send or call, or every second in every process. */
export interface HotStatement {
  /** Runs it as the program does, on a handle that records it. */
  readonly run: (db: Queryable) => Promise<unknown>;
  /** The indexes that it uses to find rows in large tables. Absent: it reads the tables that its text names. */
  readonly indexes?: readonly string[];
  /** Larger tables that it scans completely, which it does every few seconds. */
  readonly whole?: readonly string[];
  /** A statement with which it shares parts. Its file only names them. */
  readonly like?: string;
}

/** A statement as sent. */
export interface SentStatement {
  readonly text: string;
  readonly params: readonly unknown[];
}

/** The first statement that `run` sends. It is not answered, so that no other follows. */
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
const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** All nodes of the plan of a statement. */
export async function explain(db: Queryable, { text, params }: SentStatement): Promise<Plan[]> {
  const [row] = await db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`EXPLAIN (FORMAT JSON) ${text}`, params);
  if (row === undefined) throw new Error('no plan');
  return nodesOf(row['QUERY PLAN'][0].Plan);
}

/** A statement for a file: one entry per line if a line would be too long to review. */
function formatStatement(text: string): string {
  return `${text
    .trim()
    .split('\n')
    .map((line) =>
      line.length <= 120 ? line : line.replaceAll(', ', `,\n${/^ */.exec(line)?.[0] ?? ''}    `),
    )
    .join('\n')}\n`;
}

/** As few lines in a row can be the same by chance. */
const SHORTEST_RUN = 4;

/** A statement in which each run of lines of another one is one line that names the first of them. */
function nameShared(text: string, other: string, name: string): string {
  const lines = text.split('\n');
  const others = other.split('\n');
  const runAt = (at: number, from: number): number => {
    const end = lines.slice(at).findIndex((line, index) => line !== others[from + index]);
    return end === -1 ? lines.length - at : end;
  };
  const named: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const run = Math.max(...others.map((_, from) => runAt(at, from)));
    const isShared = run >= SHORTEST_RUN;
    named.push(isShared ? `-- ${run} lines as in ${name}, from: ${lines[at]?.trim()}` : (lines[at] ?? ''));
    at += isShared ? run : 1;
  }
  return `${named.join('\n').trimEnd()}\n`;
}

export interface HotStatements {
  readonly statements: Readonly<Record<string, HotStatement>>;
  /** The folder of the reviewed texts. */
  readonly golden: string;
  /** Functions of the database whose text is in that folder as well. */
  readonly functions?: readonly string[];
  /** Large tables. For a small table, a sequential scan is the cheapest plan. */
  readonly large: RegExp;
  /** The name of the index that a node of a plan uses. Default: as it is. */
  readonly indexOf?: (node: Plan) => string;
  /** Opened before the tests run. */
  readonly database: () => Queryable;
}

const nameOfIndex = ({ 'Index Name': name = '' }: Plan): string => name;

/** Tests that each statement has the reviewed text, and that its plan uses its indexes. */
export function describeHotStatements(hot: HotStatements): void {
  const { statements, golden, functions = [], large, indexOf = nameOfIndex, database } = hot;

  describe('the text of a hot statement', () => {
    const textOf = async ({ run }: HotStatement): Promise<string> =>
      formatStatement((await sentBy(run)).text);

    it.each(Object.entries(statements))('matches the reviewed text: %s', async (name, statement) => {
      const { like = '' } = statement;
      const other = statements[like];
      const text = await textOf(statement);
      const kept = other === undefined ? text : nameShared(text, await textOf(other), `${like}.sql`);
      await expect(kept).toMatchFileSnapshot(join(golden, `${name}.sql`));
    });

    it('has no file without a statement', () => {
      const files = [...Object.keys(statements), ...functions].map((name) => `${name}.sql`);
      expect(readdirSync(golden).sort()).toEqual(files.sort());
    });
  });

  describe('the plan of a hot statement', () => {
    it.each(Object.entries(statements))(
      'uses an index and reads no other large table: %s',
      async (_name, { run, indexes = [], whole = [] }) => {
        const nodes = await explain(database(), await sentBy(run));
        expect([...new Set(nodes.map(indexOf))]).toEqual(expect.arrayContaining([...indexes]));
        const read = nodes.filter(
          (node) => node['Node Type'] === 'Seq Scan' && large.test(node['Relation Name'] ?? ''),
        );
        expect([...new Set(read.map((node) => node['Relation Name']))].sort()).toEqual([...whole].sort());
      },
    );
  });
}
