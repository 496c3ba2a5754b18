import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

describe('database', () => {
  let test: TestDatabase;
  let database: Database;

  beforeEach(async () => {
    test = await createTestDatabase();
    database = openDatabase({ url: test.url, name: 'test', poolSize: 4, clock: systemClock, logger });
  });

  afterEach(async () => {
    await database.close();
    await test.drop();
  });

  it('answers a query with plain rows', async () => {
    expect(await database.query('select $1::int as one', [1])).toEqual([{ one: 1 }]);
  });
});
