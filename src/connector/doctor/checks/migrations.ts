import type { MigrationState } from '../../../runtime/database/inspect-migrations.ts';
import { type Finding, ok, problem } from '../finding.ts';
import { count } from '../wording.ts';

/** Judges the state of the tables. All other checks need the tables of this version. */
export function judgeMigrations(state: MigrationState): Finding {
  switch (state.kind) {
    case 'current':
      return ok('The tables are those of this version.', {
        evidence: [`${count(state.applied, 'migration')} applied.`],
      });
    case 'empty':
      return problem('The database holds nothing of a connector yet.', {
        advice: [
          'Start the connector: it makes its tables. If it ran before, DATABASE_URL names another database now.',
        ],
      });
    case 'pending':
      return problem(`${count(state.pending, 'migration is', 'migrations are')} not applied yet.`, {
        evidence: [`${state.applied} are.`],
        advice: ['Start this version of the connector: it brings the tables up to date first.'],
      });
    case 'newer':
      return problem('The database is newer than this version of the connector.', {
        evidence: [`It holds ${count(state.unknown, 'migration')} that this version does not know.`],
        advice: ['Start the newer version again, or restore the backup made before the upgrade.'],
      });
    case 'changed':
      return problem('A migration that was applied is not the one that this version has.', {
        advice: ['Install the released package of this version anew: a migration in it was changed.'],
      });
  }
}
