import { findObstacle, type MigrationState } from '../../runtime/database/migrate.ts';
import { count } from '../state/wording.ts';
import { type Finding, ok, problem } from './finding.ts';

const NO_TABLES = {
  says: 'The database does not contain the tables of a connector.',
  advice:
    'Start the connector: it creates its tables. If it ran before, DATABASE_URL now names a different database.',
};

/** Judges the state of the tables. All other checks need the tables of this version. */
export function judgeMigrations(state: MigrationState): Finding {
  if (state.kind === 'current')
    return ok('The tables match this version.', {
      evidence: [`${count(state.applied, 'migration')} applied.`],
    });
  if (state.kind === 'pending')
    return problem(`${count(state.pending, 'migration has', 'migrations have')} not been applied yet.`, {
      evidence: [`${count(state.applied, 'migration')} applied.`],
      advice: ['Start this version of the connector: it applies them first.'],
    });
  const { says, advice } = findObstacle(state, 'connector') ?? NO_TABLES;
  return problem(says, { advice: [advice] });
}
