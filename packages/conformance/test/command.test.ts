import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/commands/command-line.ts';
import { makeFolder } from '../../../test/support/make-folder.ts';
import { ofFile } from '../../../test/support/of-file.ts';
import { ROOT } from '../../../test/support/root.ts';
import { serve } from '../../../test/support/serve.ts';
import { spawnCommand } from '../../../test/support/spawn-command.ts';
import type { Report } from '../../certify/src/report/report.ts';
import { readConformanceOptions } from '../src/options.ts';

const KEY = 'a-key-that-no-report-shows';

/** Has empty lists and nothing else. A request for its account is never answered. */
function startBareService() {
  const asked = Promise.withResolvers<void>();
  const server = createServer(({ url, headers }, response) => {
    if (url === '/api/v1/account') return asked.resolve();
    const body =
      url === '/api/v1/connections'
        ? { connections: [] }
        : { error: 'not_found', for: headers.authorization };
    response.writeHead('error' in body ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  return { server, asked: asked.promise };
}

describe('npm run conformance', () => {
  const folder = makeFolder(afterAll);
  let baseUrl: string;
  const { server, asked } = startBareService();
  const served = ofFile(() => serve(server));
  beforeAll(() => {
    baseUrl = `${served.url}/api/v1`;
  });

  const run = (...words: readonly string[]) =>
    spawnCommand('node', [join(ROOT, 'packages/conformance/src/cli.mjs'), ...words]);
  const grade = (...words: readonly string[]) =>
    run('service', '--base-url', baseUrl, '--api-key', KEY, '--pace', '0', ...words);

  it('exits with 0 if nothing is violated, and with 1 if something is', async () => {
    const file = (name: string): string => join(folder, name);
    const [kept, broken] = await Promise.all([
      grade('--base-url', `${baseUrl}/`, '--only', 'connections.list.shape').ended,
      grade(
        '--only',
        'connections.,webhook.get',
        '--json',
        '--junit',
        file('a.xml'),
        '--html',
        file('a.html'),
      ).ended,
    ]);
    expect(kept).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('\n1 of 1 checks kept, 0 of 1 not checked.\n'),
    });
    expect(broken.code).toBe(1);
    const report = JSON.parse(broken.stdout) as Report;
    expect(report).toMatchObject({ version: 1, verdict: 'violates', target: baseUrl, notRun: [] });
    expect(broken.stderr).toContain('FAIL     webhook.get.shape');
    const forms = [
      broken.stdout,
      broken.stderr,
      ...['a.xml', 'a.html'].map((name) => readFileSync(file(name), 'utf8')),
    ];
    for (const form of forms) expect(form).toContain('webhook.get.shape');
    for (const form of forms) expect(form).not.toContain(KEY);
    expect(broken.stdout).toContain('<API key>');
  });

  it('exits with 2 if nothing can be graded', async () => {
    const nowhere = ['service', '--base-url', 'http://127.0.0.1:9/api/v1', '--api-key', KEY];
    const origin = new URL(baseUrl).origin;
    const elsewhere = ['service', '--base-url', origin, '--api-key', KEY];
    const commands = [
      run(...nowhere),
      run(...elsewhere),
      grade('--only', 'nothing'),
      run('receiver'),
      grade('--html', folder),
    ];
    const ended = await Promise.all(commands.map((command) => command.ended));
    expect(ended.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2]);
    expect(ended.map(({ stderr }) => stderr)).toEqual([
      'http://127.0.0.1:9/api/v1 cannot be checked: no response: bad port.\n',
      `${origin}: no service here (GET /connections returned 404 not_found); does --base-url end in /api/v1?\n`,
      '--only matches no check.\n',
      'The first argument must be the suite: service. See --help.\n',
      `${folder} cannot be written: EISDIR.\n`,
    ]);
  });

  it('warns what the profile full creates and deletes before it starts, and uses color only on a terminal', async () => {
    const only = ['--only', 'connections.list.shape', '--profile', 'full'];
    const [plain, sending] = await Promise.all([
      grade(...only).ended,
      grade(...only, '--recipient', '447700900201').ended,
    ]);
    expect(plain.stdout).toContain(
      'full: creates about ten connections and deletes each of them again; sends nothing, because no --recipient is given.',
    );
    expect(sending.stdout).toContain('sends about ten messages to 447700900201. Ctrl-C');
    expect(plain.stdout).not.toContain('\u001b[');
  });

  it('reports the completed checks when it is interrupted', async () => {
    const command = grade('--only', 'connections.list.shape,account.shape', '--json');
    await asked;
    command.signal('SIGINT');
    const { code, stdout } = await command.ended;
    expect(code).toBe(130);
    const report = JSON.parse(stdout) as Report;
    expect(report.verdict).toBe('interrupted');
    expect(report.results.map(({ id, result }) => `${id} ${result}`)).toEqual([
      'connections.list.shape pass',
    ]);
    // Also the last one, which was under way.
    expect(report.notRun).toEqual(['account.shape']);
  });

  it('refuses invalid options without printing the key', () => {
    const read = (options: Record<string, string>) => () =>
      readConformanceOptions({ 'base-url': 'https://x.example/api/v1', 'api-key': KEY, ...options }, {});
    for (const wrong of [
      { 'base-url': 'ftp://x.example' },
      { 'base-url': `https://${KEY}@x.example/` },
      { profile: 'everything' },
      { recipient: '+491511234567' },
      { 'webhook-url': 'https://hooks.example/in' },
      { 'webhook-url': 'http://hooks.example/in', 'webhook-listen': '8080' },
      { 'webhook-url': 'https://hooks.example/in', 'webhook-listen': 'somewhere' },
      { timeout: 'soon' },
      { timeout: '0' },
    ]) {
      expect(read(wrong), JSON.stringify(wrong)).toThrow(UsageError);
      expect(read(wrong), JSON.stringify(wrong)).not.toThrow(KEY);
    }
    expect(() => readConformanceOptions({}, {})).toThrow('--base-url or SERVICE_BASE_URL is required');
  });

  it('keeps the slash at the end of addresses that a service repeats', () => {
    const { inputs } = readConformanceOptions(
      {
        'base-url': 'https://x.example/api/v1',
        'api-key': KEY,
        'auth-url': 'https://auth.example/',
        'webhook-url': 'https://h.example/in/',
        'webhook-listen': '8080',
      },
      {},
    );
    expect(inputs).toMatchObject({ authUrl: 'https://auth.example/', webhookUrl: 'https://h.example/in/' });
  });

  it('also reads address and key from the environment', () => {
    const env = { SERVICE_BASE_URL: 'https://x.example/api/v1', SERVICE_API_KEY: KEY };
    expect(
      readConformanceOptions({ 'webhook-url': 'https://h.example/in', 'webhook-listen': '0.0.0.0:80' }, env),
    ).toEqual({
      inputs: {
        baseUrl: 'https://x.example/api/v1',
        apiKey: KEY,
        profile: 'read-only',
        patient: false,
        webhookUrl: 'https://h.example/in',
      },
      listen: { host: '0.0.0.0', port: 80 },
      only: undefined,
      timeoutMs: 30_000,
      paceMs: 50,
      json: false,
      junit: undefined,
      html: undefined,
    });
  });
});
