import { and, eq } from 'drizzle-orm';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { isHeld } from '../db/lease.ts';
import { gaps } from '../db/sync-tables.ts';
import { pollConnections, type VisibleConnections } from './poll-connections.ts';
import type { PollContext } from './poll-context.ts';
import type { ProgressChange, SlottedGap } from './progress.ts';
import { walkOneGap } from './walk-messages.ts';

const NOTHING: ProgressChange = { kind: 'visibility', saved: [], closed: [], swept: [] };

/**
 * Reads what connections missed while they were hidden, each by its id. A connection that is hidden again
 * during its walk returns an empty last page, which looks like the end of the list. So a gap is only closed if
 * the connection is still listed after its walk. Resolves with whether the gaps of all visible connections are
 * closed.
 */
export async function walkVisibility(
  context: PollContext,
  slotted: readonly SlottedGap[],
  visible: VisibleConnections,
): Promise<boolean> {
  const open = slotted.filter(({ slot }) => visible.has(slot));
  const walked: string[] = [];
  let pages = 0;
  for (const { slot, gap } of open) {
    if (pages >= context.budget.visibility) break;
    const result = await walkOneGap(context, {
      gap,
      connectionId: slot,
      kind: 'visibility',
      maxPages: context.budget.visibility - pages,
      change: (next) => (next === null ? NOTHING : { ...NOTHING, saved: [{ slot, gap: next }] }),
    });
    pages += result.pages;
    if (result.closed) walked.push(slot);
  }
  if (walked.length === 0) return open.length === 0;
  const { visible: visibleStill } = await pollConnections(context);
  const closed = walked.filter((id) => visibleStill.has(id));
  await closeGaps(context, closed);
  return closed.length === open.length;
}

async function closeGaps(
  { database, lease, accountId }: PollContext,
  slots: readonly string[],
): Promise<void> {
  const { accountId: account, kind, slot } = gaps;
  await orm(database)
    .delete(gaps)
    .where(and(eq(account, accountId), eq(kind, 'visibility'), isAnyOf(slot, slots), isHeld(lease)));
}
