import { randomBytes } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/commands.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { signHeaders } from '../connector/support/event-fixtures.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { loadedBy } from '../support/loaded-modules.ts';
import { findTargets, readBlocks, readProjectFile } from '../support/markdown.ts';
import { importsOf, mustSucceed, NPM_ENV } from '../support/npm.ts';
import { OLD_NODE_REFUSED, OLD_NODES } from '../support/old-node.ts';
import { ROOT } from '../support/root.ts';
import { type Ended, spawnCommand } from '../support/spawn-command.ts';

const WEBHOOK_SECRET = 'registered-by-hand';

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** What a user has: an empty folder with the packed file installed. */
let folder: string;
let installed: string;
let database: TestDatabase;

/** Runs a command in the user's folder, with the project's `node`. */
function inFolder(
  command: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ReturnType<typeof spawnCommand> {
  return spawnCommand(command, words, { cwd: folder, env: { ...NPM_ENV, ...env } });
}

const bin = (words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> =>
  inFolder(join(folder, 'node_modules/.bin/messaging-connector'), words, env).ended;

beforeAll(async () => {
  const base = mkdtempSync(join(tmpdir(), 'package-'));
  folder = join(base, 'user');
  installed = join(folder, 'node_modules/messaging-connector');
  mkdirSync(folder);
  database = await createTestDatabase();
  await mustSucceed(spawnCommand('npm', ['pack', '--pack-destination', base], { cwd: ROOT, env: NPM_ENV }));
  const [file = ''] = globSync('*.tgz', { cwd: base });
  // Without the optional packages, which contain a Postgres: the test has one.
  const words = [
    'install',
    join(base, file),
    '--omit=optional',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
  ];
  await mustSucceed(inFolder('npm', words));
});

afterAll(async () => {
  await database?.drop();
  if (folder !== undefined) rmSync(join(folder, '..'), { recursive: true, force: true });
});

describe('the packed file', () => {
  const files = (): readonly string[] =>
    globSync('**/*', { cwd: installed, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1))
      .concat('.env.example');

  it('contains only the build, the migrations, the documents and what they link to', () => {
    const tops =
      'ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md Dockerfile.tools LICENSE README.md SECURITY.md action.yml bench dist docker-compose.yml docs drizzle examples package.json packages src test';
    expect(readdirSync(installed).sort()).toEqual(['.env.example', '.github', ...tops.split(' ')]);
    const allowed = [
      /^dist\/index\.(?:js|d\.ts)$/,
      /^dist\/cli\/(?:package\.json|launch\.mjs|launch\.d\.mts)$/,
      /^dist\/runtime\/node-version\/[\w-]+\.(?:mjs|d\.mts)$/,
      /^dist\/(?:cli|client|commands|connector|console-host|contract|patterns|platform|runtime|sandbox|scenario|testing)\/.+\.(?:js|d\.ts)$/,
      /^dist\/console\/(?:index\.html|icon\.svg|assets\/[\w-]+\.(?:js|css|woff2))$/,
      /^dist\/swagger-ui\/(?:swagger-ui\.css|swagger-ui-bundle\.js|LICENSE)$/,
      /^dist\/vectors\/[\w-]+\.(?:json|md)$/,
      /^docs\/(?:appendix\/)?[\w-]+\.(?:md|json|yml)$/,
      /^docs\/images\/[\w-]+\.(?:png|svg)$/,
      /^docs\/openapi\/\w+\.yaml$/,
      /^examples\/(?:adapters|bullmq-worker|crm-handler|edge|haproxy|http-consumer-python|receivers|systemd|testing)\/[\w.-]+\.(?:md|ts|m?js|json|py|go|sql|cfg|service)$/,
      /^drizzle\/(?:connector|platform)\/(?:\w+\.sql|meta\/_journal\.json)$/,
      /^(?:bench|packages\/n8n|test\/vectors)\/README\.md$/,
      /^(?:packages\/certify\/test\/gallery\/\w+\.ts|src\/patterns\/[\w-]+\.ts|src\/platform\/kernel\/assumptions\.ts)$/,
    ];
    const others = files().filter((file) => file.includes('/') && !allowed.some((rule) => rule.test(file)));
    expect(others).toEqual([]);
    expect(files().length).toBeGreaterThan(500);
  });

  it('contains what its documents link to', () => {
    const dead = files()
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) =>
        findTargets(readFileSync(join(installed, file), 'utf8')).map((target) => ({ file, target })),
      )
      .filter(({ target }) => !/^(?:[a-z]+:|#)/.test(target))
      .filter(({ file, target }) => !existsSync(join(installed, dirname(file), target.replace(/#.*/, ''))));
    expect(dead).toEqual([]);
  });

  it('contains no path of the machine that built it', () => {
    const telling = files().filter((file) => readFileSync(join(installed, file), 'utf8').includes(ROOT));
    expect(telling).toEqual([]);
  });

  it('imports only its dependencies', () => {
    const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest;
    // Not the examples, which import this package.
    const modules = files().filter((name) => /^dist\/.*\.m?js$/.test(name));
    expect(importsOf(...modules.map((name) => join(installed, name)))).toEqual(
      Object.keys(dependencies).sort(),
    );
  });

  it('contains the vectors of the repository', async () => {
    const names = [
      'signature',
      'message-status',
      'reconcile-walk',
      'send-policy',
      'phone-variants',
      'webhook-addresses',
    ];
    for (const name of names) {
      const shipped = readFileSync(join(installed, `dist/vectors/${name}.json`), 'utf8');
      expect(shipped).toBe(readProjectFile(`test/vectors/${name}.json`));
    }
  });
});

describe('the program messaging-connector', () => {
  it('lists its commands', async () => {
    const { code, stdout } = await inFolder('npx', ['messaging-connector', '--help']).ended;
    expect(code).toBe(0);
    for (const name of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`^  ${name} +\\w`, 'm'));
  });

  it('shows the usage of each as a user types it', async () => {
    const answers = await Promise.all(
      Object.keys(COMMANDS).map(async (name) => ({ name, ...(await bin([name, '--help'])) })),
    );
    for (const { name, code, stdout, stderr } of answers) {
      expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' });
      expect(stdout).toMatch(new RegExp(`^Usage: npx --no-install messaging-connector ${name} .*\n\n[A-Z]`));
    }
  });

  it('prints its version, and refuses an unknown command', async () => {
    const { version } = JSON.parse(readProjectFile('package.json')) as Manifest;
    const [shown, wrong, none] = await Promise.all([bin(['--version']), bin(['conector']), bin([])]);
    expect(shown.stdout).toBe(`${version}\n`);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('There is no command "conector".');
    expect(none).toMatchObject({ code: 2, stdout: '' });
    expect(none.stderr).toContain('A command is missing.');
  });

  it('names missing settings, and exits with 2', async () => {
    const { code, stderr } = await bin(['connector']);
    expect(code).toBe(2);
    expect(stderr).toContain('CONNECTOR_API_TOKEN: is not set');
    expect(stderr).toContain('CONNECTOR_SEALING_KEYS: is not set');
  });

  it('reports an old Node in one line, and exits with 1', async () => {
    const program = join(installed, 'dist/cli/bin.js');
    for (const { node, env } of OLD_NODES) {
      const ended = await inFolder(node, [program, 'connector'], env).ended;
      expect(ended).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(OLD_NODE_REFUSED) });
    }
  });
});

describe('a program that imports messaging-connector', () => {
  const secrets = {
    CONNECTOR_API_TOKEN: randomBytes(24).toString('base64url'),
    CONNECTOR_SEALING_KEYS: generateSealingKey(),
    WEBHOOK_SECRET,
  };
  const settings = () => ({ DATABASE_URL: database.url, CONNECTOR_PORT: '0', ...secrets });

  /** A delivery as the service would send it, signed by the test. */
  async function deliver(url: string, id: string, text: string): Promise<number> {
    const body = JSON.stringify({
      event: 'message.received',
      connection_id: 'connection1',
      message: { id, from: '447700900201', text, timestamp: 1_767_225_600_000 },
    });
    const headers = signHeaders(body, WEBHOOK_SECRET, systemClock.now());
    const answer = await fetch(`${url}/webhooks/messaging`, { method: 'POST', headers, body });
    return answer.status;
  }

  it('loads the connector but not the service', async () => {
    const loaded = await loadedBy('messaging-connector', folder);
    expect(loaded.filter((url) => /\/dist\/(?:platform|sandbox)\//.test(url))).toEqual([]);
    expect(loaded.some((url) => url.endsWith('/dist/connector/connector.js'))).toBe(true);
  });

  it('gets an error with a code on an old Node, instead of a syntax error', async () => {
    const program =
      "import('messaging-connector').catch(({ code, stack }) => console.log(code + '\\n' + stack))";
    for (const { node, env } of OLD_NODES) {
      const { stdout, stderr } = await inFolder(node, ['-e', program], env).ended;
      const [code, ...stack] = stdout.split('\n');
      expect({ code, stderr }).toEqual({ code: 'ERR_NODE_TOO_OLD', stderr: '' });
      expect(stack.join('\n')).toMatch(new RegExp(OLD_NODE_REFUSED.source.replace('^', '^Error: ')));
    }
  });

  it('in JavaScript, as docs/your-crm.md shows it, is called for a signed webhook, and exits by itself', async () => {
    const example = readBlocks(readProjectFile('docs/your-crm.md')).find(({ text }) =>
      text.includes('startConnector'),
    );
    writeFileSync(join(folder, 'crm.mjs'), String(example?.text));
    const program = inFolder('node', ['crm.mjs'], settings());
    const { url } = JSON.parse(await program.said(/"connector ready"/)) as { url: string };
    expect(await deliver(url, 'message1', 'To JavaScript')).toBe(200);
    expect(await program.said(/message\.created/)).toMatch(/^\S+ message\.created$/);
    program.signal('SIGTERM');
    expect((await program.ended).code).toBe(0);
  });

  it('in TypeScript, compiles with strict options, and is called with what the types declare', async () => {
    writeFileSync(join(folder, 'crm.mts'), TYPED_PROGRAM);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(STRICT));
    const compiled = await inFolder('tsc', ['-p', '.']).ended;
    expect({ code: compiled.code, stdout: compiled.stdout }).toEqual({ code: 0, stdout: '' });

    const program = inFolder('node', ['out/crm.mjs'], settings());
    expect(await program.said(/"loop"/)).toMatch(/^\{"loop":"[^"]+"\}$/);
    const { url } = JSON.parse(await program.said(/"url"/)) as { url: string };
    expect(await deliver(url, 'message2', 'To TypeScript')).toBe(200);
    const printed: unknown = JSON.parse(await program.said(/To TypeScript/));
    expect(printed).toEqual({ id: 'message2', text: 'To TypeScript', key: expect.any(String), attempt: 1 });
    program.signal('SIGTERM');
    const { code, stderr } = await program.ended;
    expect(code).toBe(0);
    // Its own logger received the lines.
    expect(stderr).toContain('info connector ready');
  });
});

const STRICT = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2022',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    outDir: 'out',
  },
  files: ['crm.mts'],
};

/** Uses every entry point, so that the compiler checks the types of all of them. */
const TYPED_PROGRAM = `
import { type Change, ConfigurationError, type ConnectorLogger, defineHandlers, type HandlerContext, startConnector } from 'messaging-connector';
import { changesAfter, type ConnectorClient, createConnectorClient } from 'messaging-connector/client';
import { LIMITS, type Message, sendMessageRequest } from 'messaging-connector/contract';
import { applyStatus } from 'messaging-connector/patterns/message-status';
import { pollPairing } from 'messaging-connector/patterns/pairing-poll';
import { personKey } from 'messaging-connector/patterns/phone-variants';
import { walkCoverage } from 'messaging-connector/patterns/reconcile-walk';
import { decideSend } from 'messaging-connector/patterns/send-policy';
import { createSingleFlightRefresh } from 'messaging-connector/patterns/single-flight-refresh';
import { verifySignature } from 'messaging-connector/patterns/verify-signature';
import { CallRefused, deliver, type Delivered, failsThenTakes, startTestLoop, type TestLoop } from 'messaging-connector/testing';
import signature from 'messaging-connector/vectors/signature.json' with { type: 'json' };

const handlers = defineHandlers({
  async onChange(change: Change, { key, attempt }: HandlerContext): Promise<void> {
    if (change.type !== 'message.created') return;
    const text: string | null = change.data.text;
    process.stdout.write(JSON.stringify({ id: change.messageId, text, key, attempt }) + '\\n');
  },
});

const write = (level: string) => (_fields: object, message: string) => void process.stderr.write(level + ' ' + message + '\\n');
const logger: ConnectorLogger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };

const wrong: unknown = await startConnector({ env: {} }).catch((error: unknown) => error);
if (!(wrong instanceof ConfigurationError) || wrong.problems.length !== 3) throw new Error('not refused');
// @ts-expect-error There is no such option.
await startConnector({ env: {}, handler: handlers }).catch(() => undefined);

const parts: readonly unknown[] = [applyStatus, pollPairing, walkCoverage, decideSend, createSingleFlightRefresh, verifySignature];
if (parts.some((part) => typeof part !== 'function') || signature.cases.length === 0) throw new Error('a part is missing');
const { success } = sendMessageRequest.safeParse({ connectionId: 'c', to: '447700900201', text: 'a'.repeat(LIMITS.textCharacters + 1) });
if (success) throw new Error('the schema takes what the service does not');
const status: Message['status'] = 'sent';
void status;

const client: ConnectorClient = createConnectorClient({ url: 'http://127.0.0.1:9', token: 'none' });
const none = await changesAfter(client, 0).next().catch(() => 'nobody answers');
if (none !== 'nobody answers') throw new Error('the client called nobody');

const delivered: Delivered = await deliver(failsThenTakes(1), []);
if (delivered.calls.length > 0) throw new Error('nothing was to be delivered');

const { DATABASE_URL = '' } = process.env;
const loop: TestLoop = await startTestLoop({ databaseUrl: DATABASE_URL, handlers });
try {
  const [first] = await loop.waitFor({ list: 'connections', q: 'provider:qr' });
  const id: string = first?.id ?? '';
  // @ts-expect-error The body is missing.
  await loop.service.sendMessage().catch(() => undefined);
  const refused: unknown = await loop.service.getConnection({ params: { id: 'none' } }).catch((error: unknown) => error);
  if (!(refused instanceof CallRefused) || refused.status !== 404) throw new Error('not refused');
  const { label } = (await loop.service.getConnection({ params: { id } })).connection;
  await loop.restore(await loop.snapshot());
  process.stdout.write(JSON.stringify({ loop: label }) + '\\n');
} finally {
  await loop.close();
}

const connector = await startConnector({ handlers, logger });
process.stdout.write(JSON.stringify({ url: connector.url }) + '\\n');
process.once('SIGTERM', () => void connector.stop());
`;
