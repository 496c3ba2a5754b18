import { and, eq } from 'drizzle-orm';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { isHeld } from '../db/lease.ts';
import { gaps } from '../db/sync-tables.ts';
import { pollConnections, type VisibleConnections } from './poll-connections.ts';
import type { PollContext } from './poll-context.ts';
import type { ProgressChange, SlottedGap } from './progress.ts';
import { walkOneGap } from './walk-messages.ts';

const NOTHING: ProgressChange = { kind: 'visibility', saved: [], closed: [], swept: [] };

export interface VisibilityWalk {
  /** The gaps of all visible connections are closed. */
  readonly closed: boolean;
  /** The pages of one cycle were not enough. */
  readonly behind: boolean;
}

/**
 * Reads what connections missed while they were hidden, each by its id. A connection that is hidden again
 * during its walk returns an empty last page, which looks like the end of the list. So a gap is only closed if
 * the connection is still listed after its walk; otherwise the next period reads it again.
 */
export async function walkVisibility(
  context: PollContext,
  slotted: readonly SlottedGap[],
  visible: VisibleConnections,
): Promise<VisibilityWalk> {
  const open = slotted.filter(({ slot }) => visible.has(slot));
  const walked: string[] = [];
  let pages = 0;
  let behind = false;
  for (const { slot, gap } of open) {
    if (pages >= context.budget.visibility) {
      behind = true;
      break;
    }
    const result = await walkOneGap(context, {
      gap,
      connectionId: slot,
      kind: 'visibility',
      maxPages: context.budget.visibility - pages,
      change: (next) => (next === null ? NOTHING : { ...NOTHING, saved: [{ slot, gap: next }] }),
    });
    pages += result.pages;
    if (result.closed) walked.push(slot);
    else behind = true;
  }
  if (walked.length === 0) return { closed: open.length === 0, behind };
  const { visible: visibleStill } = await pollConnections(context);
  const closed = walked.filter((id) => visibleStill.has(id));
  await closeGaps(context, closed);
  return { closed: closed.length === open.length, behind };
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
