import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findFreePort } from '../find-free-port.ts';
import { readProjectFile } from '../markdown.ts';
import { type Caller, createCaller } from '../read-lists.ts';
import { ROOT } from '../root.ts';
import type { Containers } from './base-images.ts';

/** What `docker inspect` shows of a container. */
export interface Inspected {
  readonly Config: { readonly User: string; readonly Env: readonly string[] };
  readonly State: { readonly Health?: { readonly Status: string }; readonly ExitCode: number };
  readonly NetworkSettings: {
    readonly Ports: Readonly<Record<string, readonly { readonly HostIp: string }[] | null>>;
    readonly Networks: Readonly<Record<string, { readonly IPAddress: string; readonly Gateway: string }>>;
  };
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly Mounts: readonly { readonly Destination: string; readonly RW: boolean }[];
}

/** The services of `docker-compose.yml` with those of `docker-compose.demo.yml`, in containers of their own. */
export interface Stack {
  readonly connectorUrl: string;
  readonly sandboxUrl: string;
  readonly token: string;
  /** Calls the sandbox of the demo's service. */
  readonly sandbox: Caller;
  /** Calls the connector through the proxy. */
  readonly connector: Caller;
  /** Runs Compose with both files. Resolves with what it printed. */
  compose(...words: string[]): Promise<string>;
  inspect(service: string): Promise<Inspected>;
  untilHealthy(service: string): Promise<void>;
  /** The id of a network by its name in the file. */
  network(name: string): string;
  /** Builds a target of `Dockerfile.tools`, tagged with `image`. */
  buildTool(target: string, image: string): Promise<void>;
  /** Changes `LOG_LEVEL` in `.env`, which replaces each connector container that is started next, as a new image does. */
  setLogLevel(level: string): void;
  /** Deletes the containers and their data, and ends the engine if it is this process's. */
  remove(): Promise<void>;
}

const PROJECT = 'messaging-test';
const HEALTHY_MS = 120_000;

/** Prepares the stack with all ports and addresses different from their defaults. `compose` starts it. */
export async function prepareStack({ engine }: Containers): Promise<Stack> {
  // Compose builds only images that do not exist; an older one would be tested.
  for (const image of ['messaging-connector', 'messaging-service'])
    await engine.docker(['image', 'rm', '--force', image]).catch(() => undefined);
  const folder = mkdtempSync(join(tmpdir(), 'test-containers-'));
  const environment = join(folder, 'env');
  const [port, sandboxPort] = [await findFreePort(), await findFreePort()];
  const settings = [`PORT=${port}`, `SANDBOX_PORT=${sandboxPort}`, 'SUBNET_PREFIX=172.30.77'];
  const write = (...more: string[]): void =>
    writeFileSync(environment, [...settings, ...more, ''].join('\n'));
  write();
  const files = ['docker-compose.yml', 'docker-compose.demo.yml'].map((file) => join(ROOT, file));
  if (engine.own) {
    // Only the network of the machine leads to registries.
    const names = ['web-1', 'web-2', 'worker-1', 'worker-2', 'messaging-service'];
    const services = Object.fromEntries(names.map((name) => [name, { build: { network: 'host' } }]));
    const override = join(folder, 'network.json');
    writeFileSync(override, JSON.stringify({ version: '3.9', services }));
    files.push(override);
  }
  const options = [...files.flatMap((file) => ['-f', file]), '-p', PROJECT, '--env-file', environment];
  const compose = (...words: string[]): Promise<string> => engine.compose([...options, ...words]);

  async function inspect(service: string): Promise<Inspected> {
    // By its labels: the older Compose takes a second for each call.
    const labels = { project: PROJECT, service, oneoff: 'False' };
    const filters = Object.entries(labels).map(([key, value]) => `label=com.docker.compose.${key}=${value}`);
    const id = await engine.docker(['ps', '-aq', ...filters.flatMap((filter) => ['--filter', filter])]);
    return (JSON.parse(await engine.docker(['inspect', id])) as [Inspected])[0];
  }

  const connectorUrl = `http://127.0.0.1:${port}`;
  const sandboxUrl = `http://127.0.0.1:${sandboxPort}/sandbox/v1`;
  const token = readProjectFile('examples/demo/secrets/api_token');
  return {
    connectorUrl,
    sandboxUrl,
    token,
    sandbox: createCaller(sandboxUrl),
    connector: createCaller(connectorUrl, token),
    compose,
    inspect,
    async untilHealthy(service) {
      const read = async () => (await inspect(service)).State.Health?.Status;
      await expect.poll(read, { timeout: HEALTHY_MS, interval: 250 }).toBe('healthy');
    },
    network: (name) => `${PROJECT}_${name}`,
    async buildTool(target, image) {
      const network = engine.own ? ['--network', 'host'] : [];
      const file = ['--file', join(ROOT, 'Dockerfile.tools'), '--target', target, '--tag', image];
      await engine.docker(['build', '--quiet', ...network, ...file, ROOT]);
    },
    setLogLevel: (level) => write(`LOG_LEVEL=${level}`),
    async remove() {
      await compose('down', '--volumes').finally(() => engine.stop());
      rmSync(folder, { recursive: true });
    },
  };
}
