import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROFILES } from '../../packages/certify/src/receiver/profile.ts';
import { createObserver } from '../../packages/certify/src/runner/observer.ts';
import { expectConformity } from '../../packages/certify/test/expect-conformity.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { mustSucceed, NPM_ENV } from '../support/npm.ts';
import { ROOT } from '../support/root.ts';
import { serve } from '../support/serve.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

const EXAMPLE = join(ROOT, 'examples/edge');
const LOCK = readFileSync(join(EXAMPLE, 'package-lock.json'));
/** A project with the example's packages, installed once for each lock file. */
const PROJECT = join(
  ROOT,
  'node_modules/.cache',
  `edge-${createHash('sha256').update(LOCK).digest('hex').slice(0, 12)}`,
);
const SECRET = 'secret-of-an-example';
const ENV = { ...NPM_ENV, CI: '1', NEXT_TELEMETRY_DISABLED: '1', WRANGLER_SEND_METRICS: 'false' };
const SEEN = 'SELECT id, status, text, media_url, media_type FROM messages';
const PATTERNS = globSync('src/patterns/*.ts', { cwd: ROOT });

/** Copies a file as the README of the example says: the import of a pattern leads to the copy beside it. */
function copyTo(folder: string, path: string, name = basename(path)): void {
  mkdirSync(folder, { recursive: true });
  const text = readFileSync(join(ROOT, path), 'utf8').replaceAll('../../src/patterns/', './');
  writeFileSync(join(folder, name), text);
}

async function prepareProject(): Promise<void> {
  for (const file of ['package.json', 'package-lock.json', 'schema.sql', 'wrangler.json']) {
    mkdirSync(PROJECT, { recursive: true });
    cpSync(join(EXAMPLE, file), join(PROJECT, file));
  }
  for (const path of [...globSync('examples/edge/*.ts', { cwd: ROOT }), ...PATTERNS]) copyTo(PROJECT, path);
  if (existsSync(join(PROJECT, 'node_modules/.package-lock.json'))) return;
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  await mustSucceed(spawnCommand('npm', words, { cwd: PROJECT, env: ENV }));
}

const run = (bin: string, words: readonly string[], cwd = PROJECT, env = {}): SpawnedCommand =>
  spawnCommand('node', [join(PROJECT, 'node_modules', bin), ...words], { cwd, env: { ...ENV, ...env } });

async function judge(url: string, read: () => Promise<unknown>) {
  const inputs = { url, secret: SECRET, profile: PROFILES.messaging, observer: createObserver(read) };
  expect(await expectConformity(inputs)).toBe(59);
}

/** Calls a handler as a function URL does: names of headers in lower case, repeated headers joined, bytes as base64. */
async function startLambda(handler: (event: object) => Promise<{ statusCode: number; body: string }>) {
  const server = createServer(async (request, response) => {
    const bytes = await buffer(request);
    const isText = /^(?:text\/|application\/(?:json|xml|javascript))/.test(
      request.headers['content-type'] ?? '',
    );
    const joined = Object.entries(request.headersDistinct).map(([name, values]) => [name, values?.join(',')]);
    const body = bytes.toString(isText ? 'utf8' : 'base64');
    const event = { version: '2.0', headers: Object.fromEntries(joined), body, isBase64Encoded: !isText };
    const { statusCode, body: answer } = await handler(event);
    response.writeHead(statusCode).end(answer);
  });
  const { url, close } = await serve(server);
  return { url: `${url}/`, close };
}

describe('the receivers of examples/edge', () => {
  let database: TestDatabase;
  let sql: postgres.Sql;
  beforeAll(async () => {
    await prepareProject();
    database = await createTestDatabase();
    sql = postgres(database.url, { max: 1, onnotice: () => undefined });
    await sql.unsafe(readFileSync(join(EXAMPLE, 'schema.sql'), 'utf8'));
  }, 180_000);
  afterAll(async () => {
    await sql?.end();
    await database?.drop();
  });

  it.each(globSync('examples/edge/*.ts', { cwd: ROOT }))('%s has at most 60 lines', (path) => {
    expect(readFileSync(join(ROOT, path), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  it('compile under strict rules', { timeout: 60_000 }, async () => {
    const options =
      '--noEmit --strict --skipLibCheck --target es2023 --module esnext --moduleResolution bundler';
    const words = [...options.split(' '), '--allowImportingTsExtensions', '--types'];
    await mustSucceed(
      run('typescript/bin/tsc', [...words, '@cloudflare/workers-types,node', 'hono-workers.ts']),
    );
    await mustSucceed(run('typescript/bin/tsc', [...words, 'node', 'lambda.ts', 'next-route.ts']));
  });

  it('pass levels W and E on Cloudflare Workers, whose runtime loads all patterns', {
    timeout: 180_000,
  }, async () => {
    const names = PATTERNS.map((path) => basename(path, '.ts'));
    const imports = names.map((name, index) => `import * as pattern${index} from './${name}.ts';`);
    writeFileSync(
      join(PROJECT, 'observed.ts'),
      `${imports.join('\n')}
import app from './hono-workers.ts';
app.get('/messages', async (c) => c.json((await c.env.DB.prepare('${SEEN}').all()).results));
app.get('/patterns', (c) => c.json([${names.map((_, index) => `Object.keys(pattern${index})`).join(', ')}]));
export default app;
`,
    );
    const state = ['--persist-to', mkdtempSync(join(tmpdir(), 'd1-'))];
    const wrangler = 'wrangler/bin/wrangler.js';
    await mustSucceed(run(wrangler, ['d1', 'execute', 'DB', '--local', '--file', 'schema.sql', ...state]));
    const port = await findFreePort();
    const words = ['dev', 'observed.ts', '--ip', '127.0.0.1', '--port', String(port), ...state];
    const worker = run(wrangler, [...words, '--var', `SIGNING_SECRET:${SECRET}`]);
    try {
      await worker.said(/Ready on/);
      const origin = `http://127.0.0.1:${port}`;
      const ask = async (path: string): Promise<unknown> => (await fetch(`${origin}${path}`)).json();
      const here = await Promise.all(PATTERNS.map((path) => import(join(ROOT, path))));
      expect(await ask('/patterns')).toEqual(here.map((exported) => Object.keys(exported).sort()));
      await judge(`${origin}/webhooks`, () => ask('/messages'));
    } finally {
      await worker.kill();
    }
  });

  it('pass levels W and E in Next.js', { timeout: 240_000 }, async () => {
    const folder = join(PROJECT, 'next');
    const route = join(folder, 'app/webhooks');
    copyTo(route, 'examples/edge/next-route.ts', 'route.ts');
    copyTo(route, 'examples/edge/store-event.ts');
    copyTo(route, 'src/patterns/verify-signature.ts');
    const compilerOptions = { strict: true, allowImportingTsExtensions: true };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    // Otherwise the root is the outermost folder with a lock file.
    const config = { turbopack: { root: PROJECT } };
    writeFileSync(join(folder, 'next.config.mjs'), `export default ${JSON.stringify(config)};`);
    if (!existsSync(join(folder, 'node_modules')))
      symlinkSync('../node_modules', join(folder, 'node_modules'));
    await mustSucceed(run('next/dist/bin/next', ['build'], folder));
    const port = await findFreePort();
    const words = ['start', '--hostname', '127.0.0.1', '--port', String(port)];
    const next = run('next/dist/bin/next', words, folder, {
      SIGNING_SECRET: SECRET,
      DATABASE_URL: database.url,
    });
    try {
      await next.said(/Ready in/);
      await judge(`http://127.0.0.1:${port}/webhooks`, () => sql.unsafe(SEEN));
    } finally {
      await next.kill();
    }
  });

  it('pass levels W and E as a Lambda handler', { timeout: 120_000 }, async () => {
    await sql`TRUNCATE messages`;
    Object.assign(process.env, { SIGNING_SECRET: SECRET, DATABASE_URL: database.url });
    const { handler } = await import(join(EXAMPLE, 'lambda.ts'));
    const lambda = await startLambda(handler);
    try {
      await judge(lambda.url, () => sql.unsafe(SEEN));
    } finally {
      await lambda.close();
    }
  });
});
