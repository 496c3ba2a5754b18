import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkSettings } from '../../src/commands/check-settings.ts';
import { startLoop } from '../../src/commands/loop.ts';
import { writeReports } from '../../src/commands/write-reports.ts';
import type { Report } from '../../src/connector/doctor/finding.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { loopOptions } from '../../src/testing/loop-options.ts';
import { createTestDatabase } from '../support/database.ts';
import { callJson, createLoopClient } from '../support/loop-client.ts';
import { makeFolder } from '../support/make-folder.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

const COMMAND = join(ROOT, 'src/cli/doctor.ts');
const SLOW_MS = 60_000;

it('a report ends with the first problem, whatever warnings stand before it', () => {
  const reports = (['warning', 'problem'] as const).map((verdict) => ({
    ...{ check: verdict, title: '', verdict, says: `It is a ${verdict}.` },
    ...{ evidence: [], advice: ['Mend it.'] },
  }));
  expect(writeReports(reports)).toMatch(
    /\n\n1 problem, 1 warning, 0 ok, 0 not checked\.\nStart with problem: It is a problem\. Mend it\.\n$/,
  );
});

describe('the settings that the doctor reads', () => {
  const read = (env: Record<string, string>) => {
    const { settings, reports } = checkSettings(env);
    return { settings, report: reports.find(({ check }) => check === 'settings') };
  };
  const GOOD = {
    DATABASE_URL: 'postgres://127.0.0.1/messaging',
    CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789',
    CONNECTOR_SEALING_KEYS: generateSealingKey(),
  };

  it('are valid', () => {
    expect(read(GOOD).report).toMatchObject({ verdict: 'ok' });
    expect(checkSettings(GOOD).reports.find(({ check }) => check === 'node')).toMatchObject({
      verdict: 'ok',
    });
    // The inbox is kept no longer than the messages.
    expect(read({ ...GOOD, MESSAGE_RETENTION_DAYS: '7' }).settings.inboxRetentionDays).toBe(7);
  });

  it('are reported by name if they are invalid, and the others are read', () => {
    const { report, settings } = read({
      DATABASE_URL: 'postgres://user:canary-password@db.example/x',
      CONNECTOR_SEALING_KEYS: 'canary-short',
      RECONCILE_INTERVAL_MS: '5',
      SERVICE_BASE_URL: 'https://service.example/api/v1',
    });
    expect(report).toMatchObject({ verdict: 'problem' });
    const named = report?.evidence.map((line) => line.split(':')[0]);
    expect(named?.sort()).toEqual([
      'CONNECTOR_API_TOKEN',
      'CONNECTOR_SEALING_KEYS',
      'RECONCILE_INTERVAL_MS',
      'SERVICE_API_KEY',
    ]);
    expect(JSON.stringify(report)).not.toContain('canary');
    expect(settings).toMatchObject({
      databaseUrl: 'postgres://user:canary-password@db.example/x',
      sealingKeys: [],
      reconcileIntervalMs: 45_000,
    });
  });

  it('are reported once if a file of theirs cannot be read or is invalid', () => {
    const { CONNECTOR_API_TOKEN: token, ...others } = GOOD;
    const file = join(import.meta.dirname, 'no-such-file');
    expect(read({ ...others, CONNECTOR_API_TOKEN_FILE: file }).report?.evidence).toEqual([
      expect.stringMatching(/^CONNECTOR_API_TOKEN_FILE: refers to .*no-such-file, which cannot be read/),
    ]);
    const both = read({ ...others, CONNECTOR_API_TOKEN: token, CONNECTOR_API_TOKEN_FILE: file });
    expect(both.report?.evidence).toEqual([
      expect.stringMatching(/^CONNECTOR_API_TOKEN: is set, and so is CONNECTOR_API_TOKEN_FILE/),
    ]);
    expect(both.settings.apiToken).toBe(undefined);
  });

  it('are reported if they name no database, unless they are those of npm start', () => {
    const { DATABASE_URL: _, ...unset } = GOOD;
    expect(read(unset).report).toMatchObject({
      verdict: 'problem',
      evidence: [expect.stringMatching(/^DATABASE_URL: is not set/)],
    });
    const embedded = { ...unset, SERVICE_BASE_URL: 'http://127.0.0.1:4010/api/v1', SERVICE_API_KEY: 'key' };
    expect(read(embedded).report).toMatchObject({
      verdict: 'warning',
      says: 'DATABASE_URL is not set: the data is in a Postgres on this machine only, without a backup.',
      advice: ['In production, set DATABASE_URL to a Postgres of your own.'],
    });
    const { reports } = checkSettings(embedded, { isLoop: true, note: 'They are those of npm start.' });
    expect(reports.find(({ check }) => check === 'settings')).toMatchObject({
      verdict: 'ok',
      evidence: ['They are those of npm start.'],
    });
  });

  it('may contain a misspelled name, or name a file that does not exist', () => {
    expect(read({ ...GOOD, SERVICE_API_KEYS: 'x' }).report).toMatchObject({
      verdict: 'warning',
      evidence: ['SERVICE_API_KEYS is not a setting. Did you mean SERVICE_API_KEY?'],
    });
    expect(read({ ...GOOD, RECONCILE_INTERVAL: '5000' }).report).toMatchObject({
      evidence: ['RECONCILE_INTERVAL is not a setting. Did you mean RECONCILE_INTERVAL_MS?'],
    });
    const nowhere = { ...GOOD, CONNECTOR_HANDLERS: './nowhere.ts' };
    expect(read(nowhere).report).toMatchObject({ verdict: 'problem' });
    // It loads no handlers.
    expect(read({ ...nowhere, CONNECTOR_ROLE: 'web' }).report).toMatchObject({ verdict: 'ok' });
  });
});

describe('npm run doctor beside npm start', () => {
  it(
    'checks the connector of the loop that runs on its folder, or of the one that --sandbox names, and says which',
    async () => {
      const folder = makeFolder();
      const database = await createTestDatabase({ connector: true, platform: true });
      onTestFinished(() => database.drop());
      const options = loopOptions(database.url);
      const loop = await startLoop(options);
      onTestFinished(() => loop.close());
      // The self-check loses a webhook on purpose: no doctor finds that.
      await loop.check();
      writeFileSync(join(folder, '.env'), `DATABASE_URL=${database.url}\n`);
      mkdirSync(join(folder, '.data'));
      writeFileSync(join(folder, '.data/secrets.json'), JSON.stringify(options.secrets));
      const run = (words: readonly string[], env = {}) =>
        spawnCommand('node', [COMMAND, '--json', ...words], { cwd: folder, env }).ended;
      const settingsOf = (stdout: string) =>
        (JSON.parse(stdout) as { reports: Report[] }).reports.find(({ check }) => check === 'settings');

      const { sandboxUrl } = loop.info();
      const client = createLoopClient(loop.info());
      await callJson(`${sandboxUrl}/sandbox/v1/connections/${await client.qrConnection()}/licence`, {
        method: 'PUT',
        body: { status: 'expired' },
      });
      await client.sync();
      const elsewhere = await run(['--sandbox', 'http://127.0.0.1:1']);
      const [asked, unasked, unfound] = await Promise.all([
        run(['--sandbox', sandboxUrl]),
        run([]),
        run([], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }),
      ]);
      const { reports } = JSON.parse(asked.stdout) as { reports: Report[] };
      // Only the licence, which expired a moment ago.
      expect(reports.filter(({ verdict }) => verdict === 'problem').map(({ check }) => check)).toEqual([
        'numbers',
      ]);
      expect(asked.code).toBe(1);
      expect(asked.stdout).toContain(
        `with PUT /connections/{id}/licence {\\"status\\":\\"active\\"} at ${sandboxUrl}/sandbox/v1`,
      );
      expect(asked.stdout).not.toContain('portal');
      expect(asked.stdout).not.toContain('never arrived');
      const { settings, connector } = Object.fromEntries(
        reports.map(({ check, verdict }) => [check, verdict]),
      );
      expect([settings, connector]).toEqual(['ok', 'ok']);
      for (const secret of Object.values(options.secrets)) expect(asked.stdout).not.toContain(secret);
      for (const { stdout } of [asked, unasked]) {
        expect(settingsOf(stdout)).toMatchObject({
          verdict: 'ok',
          evidence: [`They are those of the npm start at ${sandboxUrl}.`],
        });
        const { host, pathname } = new URL(database.url);
        expect(stdout).toContain(`DATABASE_URL names ${host}${pathname}.`);
      }
      writeFileSync(join(folder, '.env'), `DATABASE_URL=${database.url}\nCONNECTOR_SEALING_KEYS=x\n`);
      const own = await run([]);
      expect(settingsOf(own.stdout)).toMatchObject({
        verdict: 'problem',
        advice: [expect.any(String), expect.stringContaining(`npm run doctor -- --sandbox ${sandboxUrl}`)],
      });
      expect(settingsOf(unfound.stdout)?.advice.at(-1)).toMatch(
        /does not run now, or its database does not answer\. .*npm run doctor -- --sandbox URL$/,
      );
      expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no sandbox at') });
    },
    SLOW_MS,
  );
});

describe('npm run doctor', () => {
  it(
    'exits with 1 and checks nothing else without a database, and with 2 for an unknown option',
    async () => {
      const folder = makeFolder();
      writeFileSync(
        join(folder, '.env'),
        `CONNECTOR_API_TOKEN=token-of-a-test-0123456789\nCONNECTOR_SEALING_KEYS=${generateSealingKey()}\nCONNECTOR_PORT=0\n`,
      );
      const run = (...words: readonly string[]) =>
        spawnCommand('node', [COMMAND, ...words], { cwd: folder }).ended;
      const [nothing, wrong] = await Promise.all([run(), run('--jsom')]);
      expect(nothing.stdout).toContain('DATABASE_URL is not set, and there is no data in .data');
      expect(nothing.stdout).toMatch(/^- +migrations, rights, connections, snapshots, sealing, account: /m);
      expect(nothing.code).toBe(1);
      expect(wrong).toMatchObject({ code: 2, stdout: '' });
    },
    SLOW_MS,
  );
});
