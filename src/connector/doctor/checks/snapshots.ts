import { readOldestSnapshot, readOtherHolders } from '../../state/server-sessions.ts';
import { count, span } from '../../state/wording.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, ok, warning } from '../finding.ts';

/** Longer than a statement of the connector, and than most reports. */
const OLD_MS = 30 * 60_000;

/** Nothing keeps dead rows for long. Until it ends, tables and indexes grow. */
export const snapshotsCheck: Check<StoreCheckInput> = {
  id: 'snapshots',
  title: 'what keeps dead rows in the database',
  async run({ database, clock }) {
    const oldest = await readOldestSnapshot(database);
    const { idleSlots, prepared, hidden } = await readOtherHolders(database);
    const now = clock.now();
    const held = oldest === null || oldest.since === null ? 0 : Math.max(0, now - oldest.since);
    const old = prepared.filter(({ since }) => now - since > OLD_MS);
    const evidence: string[] = [];
    const advice: string[] = [];
    if (oldest !== null && oldest.since !== null) {
      const { pid, role, application, state, begins } = oldest;
      const who = `process ${pid} (role ${role ?? 'unknown'}, application ${application || 'unnamed'}, ${state})`;
      const statement = held > OLD_MS ? `, "${begins.replace(/\s+/g, ' ')}"` : '';
      evidence.push(`The oldest transaction began ${span(held)} ago: ${who}${statement}.`);
      if (held > OLD_MS) advice.push(`If nobody needs it: select pg_terminate_backend(${pid}).`);
    } else if (oldest !== null) {
      evidence.push(
        `A standby reports what it reads (${oldest.application || 'unnamed'}): hot_standby_feedback is on.`,
      );
    }
    for (const { name, bytes } of idleSlots) {
      const kept =
        bytes === null ? '' : ` It keeps ${Math.ceil(bytes / 2 ** 20)} MiB of the write-ahead log.`;
      evidence.push(`Nobody reads the replication slot ${name}.${kept}`);
      advice.push(`If its reader is gone for good: select pg_drop_replication_slot('${name}').`);
    }
    for (const { name, since } of old) {
      evidence.push(`The transaction ${name} was prepared ${span(now - since)} ago and has not ended.`);
      advice.push(`End it as its owner: rollback prepared '${name}', or commit prepared.`);
    }
    if (hidden > 0) {
      const sessions = count(hidden, 'session');
      evidence.push(
        `${sessions} of other roles cannot be seen; to see them, grant pg_read_all_stats to this role.`,
      );
    }
    if (advice.length === 0) return ok('Nothing keeps dead rows for long.', { evidence });
    return warning('Dead rows cannot be removed, so tables and indexes grow.', { evidence, advice });
  },
};
