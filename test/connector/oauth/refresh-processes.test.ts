import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { CredentialSource } from '../../../src/connector/accounts/credential-source.ts';
import { createAuthorizationServer } from '../../../src/connector/oauth/authorization-server.ts';
import { readGrant, sealTokens } from '../../../src/connector/oauth/grant-store.ts';
import { createGrantCredentials } from '../../../src/connector/oauth/grants.ts';
import { RefreshDelayed } from '../../../src/connector/oauth/oauth-errors.ts';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { DatabaseUnavailable } from '../../../src/runtime/database/errors.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { proves } from '../../support/proves.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import { createShiftedClock } from '../../support/shifted-clock.ts';
import { databaseOfFile, silentLogger } from '../support/event-fixtures.ts';
import { ScriptedAuthServer } from '../support/scripted-auth-server.ts';

const script = new URL('../support/refresh-in-child.ts', import.meta.url).pathname;
const ACCOUNT = 'account-1';
const sealingKey = generateSealingKey();
const database = databaseOfFile(2);
let auth: ScriptedAuthServer;

afterAll(async () => {
  const ends = idle.filter(({ process: { killed } }) => !killed).map((child) => once(child.process, 'exit'));
  for (const child of idle) child.process.stdin?.end();
  for (const [code] of await Promise.all(ends)) expect(code).toBe(0);
});
beforeEach(async () => {
  auth = await ScriptedAuthServer.start();
  return () => auth.close();
});

/** A grant whose access token has ended. */
async function storeGrant(): Promise<void> {
  const now = systemClock.now();
  const issued = { ...auth.issue(), expiresInMs: 0, scope: null };
  const pair = await sealTokens(createKeyRing([sealingKey]), ACCOUNT, issued, now);
  await database.query('delete from connector.oauth_grants');
  await database.query(
    `insert into connector.oauth_grants
       (account_id, sealed_access_token, sealed_refresh_token, access_expires_at, refreshed_at)
     values ($1, $2, $3, $4, $4)`,
    [ACCOUNT, pair.sealedAccessToken, pair.sealedRefreshToken, now],
  );
}

interface Child {
  readonly process: ChildProcess;
  /** What each of so many uses at once came to, without repeats. */
  use(uses: number): Promise<readonly string[]>;
}

let idle: Child[] = [];

async function startChild(): Promise<Child> {
  const argument = JSON.stringify({ databaseUrl: database.url, sealingKey, accountId: ACCOUNT });
  const process_ = spawn(process.execPath, [script, argument], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: process_.stdout as Readable })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  return {
    process: process_,
    async use(uses) {
      process_.stdin?.write(`${JSON.stringify({ app: auth.app('http://127.0.0.1:1/api/v1'), uses })}\n`);
      const { value } = await lines.next();
      return JSON.parse(String(value)) as string[];
    },
  };
}

/** That many processes, which know nothing of the test before. */
async function takeChildren(count: number): Promise<Child[]> {
  const alive = idle.filter(({ process: { killed } }) => !killed);
  const missing = Math.max(0, count - alive.length);
  idle = [...alive, ...(await Promise.all(Array.from({ length: missing }, startChild)))];
  return idle.slice(0, count);
}

/** As if whoever claimed a refresh had been silent for longer than a claim lasts. */
async function letClaimRunOut(): Promise<void> {
  await database.query('update connector.oauth_grants set refresh_owner = null');
}

describe('fifty concurrent refreshes in four processes', () => {
  it('are one on the wire, and all receive the same token', async () => {
    proves('oauth.refresh.serialized');
    await storeGrant();
    const children = await takeChildren(4);
    const uses = [13, 13, 12, 12];
    const used = (await Promise.all(children.map((child, index) => child.use(uses[index] ?? 0)))).flat();
    expect(new Set(used).size).toBe(1);
    expect(used[0]).toMatch(/^access-/);
    expect(auth.refreshes()).toBe(1);
    expect(await readGrant(database, ACCOUNT)).toMatchObject({
      version: 2,
      refreshOwner: null,
      endedAt: null,
    });
  });
});

describe('a process that is killed between the answer of a refresh and its commit', () => {
  async function killAtAnswer(child: Child): Promise<void> {
    const dead = once(child.process, 'exit');
    auth.onRefreshed = async () => {
      auth.onRefreshed = () => undefined;
      child.process.kill('SIGKILL');
      await dead;
    };
    child.use(1).catch(() => undefined);
    expect((await dead)[1]).toBe('SIGKILL');
  }

  it('ends a grant whose old token is invalid, without another request', async () => {
    await storeGrant();
    const [first, ...others] = (await takeChildren(3)) as [Child, Child, Child];
    await killAtAnswer(first);
    await letClaimRunOut();
    const ends = await Promise.all(others.map((child) => child.use(5)));
    expect(new Set(ends.flat())).toEqual(new Set(['reauth_required']));
    expect(auth.refreshes()).toBe(2);
    expect(await readGrant(database, ACCOUNT)).toMatchObject({ version: 1, endedAt: expect.any(Number) });
  });

  it('leaves a grant valid if the server had not received the request', async () => {
    await storeGrant();
    const [first, second] = (await takeChildren(2)) as [Child, Child];
    const dead = once(first.process, 'exit');
    auth.fault = () => (auth.refreshes() === 1 ? 'hang' : undefined);
    auth.onRequest = async () => {
      auth.onRequest = () => undefined;
      first.process.kill('SIGKILL');
      await dead;
    };
    first.use(1).catch(() => undefined);
    await dead;
    await letClaimRunOut();
    expect(await second.use(5)).toEqual([expect.stringMatching(/^access-/)]);
    expect(auth.refreshes()).toBe(2);
    expect(await readGrant(database, ACCOUNT)).toMatchObject({ version: 2, endedAt: null });
  });
});

describe('a refresh', () => {
  const credentials = (
    owner: string,
    own: { readonly database?: Database; readonly clock?: Clock },
  ): CredentialSource =>
    createGrantCredentials({
      database,
      keyRing: createKeyRing([sealingKey]),
      clock: systemClock,
      logger: silentLogger,
      server: createAuthorizationServer(auth.app('http://127.0.0.1:1/api/v1'), systemClock),
      owner,
      closing: new AbortController().signal,
      onEnd: () => undefined,
      ...own,
    }).of(ACCOUNT);

  it('is not made a second time by a process whose clock is an hour ahead', async () => {
    await storeGrant();
    const begun = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<void>();
    const asking = aroundQueries(database, async (text, run) => {
      const rows = await run();
      if (/^update .*"refresh_owner"/.test(text)) refused.resolve();
      return rows;
    });
    auth.onRequest = async () => {
      begun.resolve();
      await refused.promise;
    };
    const first = credentials('process-1', {}).token();
    await begun.promise;
    const ahead = createShiftedClock();
    ahead.shift(3_600_000);
    const second = credentials('process-2', { database: asking, clock: ahead }).token();
    await Promise.all([first, second]);
    expect(auth.refreshes()).toBe(1);
  });

  it('that failed is not delayed by a clock that was an hour ahead', async () => {
    await storeGrant();
    const clock = new ManualClock();
    const second = credentials('process-2', { clock });
    const failedAt = async (ms: number) =>
      await database.query('update connector.oauth_grants set access_expires_at = 0, not_before = $1', [
        clock.now() + ms,
      ]);
    await failedAt(5 * 60_000);
    await expect(second.token()).rejects.toThrow(RefreshDelayed);
    expect(auth.refreshes()).toBe(0);
    await failedAt(5 * 60_000 + 1);
    expect(await second.token()).toMatch(/^access-/);
  });

  it('is taken over from a dead process after 65 s, whatever the clock of that one said', async () => {
    await storeGrant();
    const inAYear = systemClock.now() + 31_536_000_000;
    await database.query(
      `update connector.oauth_grants set refresh_owner = 'dead', refresh_until = $1, access_expires_at = 0`,
      [inAYear],
    );
    const clock = new ManualClock();
    let takenOverAt = 0;
    auth.onRequest = () => {
      takenOverAt = clock.elapsed();
    };
    const begun = clock.elapsed();
    let over = false;
    const used = credentials('process-1', { clock })
      .token()
      .finally(() => {
        over = true;
      });
    // Time passes while it waits, not while the database or the service answers.
    while (!over) {
      if (clock.pending > 0 && takenOverAt === 0) await clock.advance(100);
      await database.query('select 1');
    }
    expect(await used).toMatch(/^access-/);
    expect(takenOverAt - begun).toBeGreaterThanOrEqual(65_000);
    expect(takenOverAt - begun).toBeLessThan(70_000);
  });

  it('keeps the new tokens if the answer of the database to their commit is lost', async () => {
    await storeGrant();
    let lost = 0;
    const losing = aroundQueries(database, async (text, run) => {
      const rows = await run();
      if (lost > 0 || !/^update .*"sealed_access_token"/.test(text)) return rows;
      lost += 1;
      throw new DatabaseUnavailable('lost', 'lost', { mayHaveCommitted: true });
    });
    expect(await credentials('process-1', { database: losing }).token()).toMatch(/^access-/);
    expect(lost).toBe(1);
    expect(auth.requests.map(({ path }) => path)).toEqual(['/token']);
    expect(await readGrant(database, ACCOUNT)).toMatchObject({ version: 2, endedAt: null });
  });
});
