import type { MigrationState } from '../../runtime/database/migrate.ts';
import { count } from '../state/wording.ts';
import { type Finding, ok, problem } from './finding.ts';

/** Judges the state of the tables. All other checks need the tables of this version. */
export function judgeMigrations(state: MigrationState): Finding {
  switch (state.kind) {
    case 'current':
      return ok('The tables match this version.', {
        evidence: [`${count(state.applied, 'migration')} applied.`],
      });
    case 'empty':
      return problem('The database does not contain the tables of a connector.', {
        advice: [
          'Start the connector: it creates its tables. If it ran before, DATABASE_URL now names a different database.',
        ],
      });
    case 'pending':
      return problem(`${count(state.pending, 'migration has', 'migrations have')} not been applied yet.`, {
        evidence: [`${count(state.applied, 'migration')} applied.`],
        advice: ['Start this version of the connector: it applies them first.'],
      });
    case 'unreleased':
      return problem('The tables were created before the first release, and no migration continues them.', {
        advice: [
          'Set DATABASE_URL to an empty database, or delete the data of the connector with: drop schema connector cascade',
        ],
      });
    case 'newer':
      return problem('The database is newer than this version of the connector.', {
        evidence: [`It contains ${count(state.unknown, 'migration')} that this version does not know.`],
        advice: ['Start the newer version again, or restore the backup made before the upgrade.'],
      });
    case 'changed':
      return problem('An applied migration differs from the one in this version.', {
        advice: ['Reinstall the released package of this version: one of its migrations was changed.'],
      });
  }
}
