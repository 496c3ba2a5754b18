import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { type SpawnedCommand, spawnCommand } from '../spawn-command.ts';

type Environment = Readonly<Record<string, string>>;

/** A container engine with Compose. */
export interface ContainerEngine {
  /** The versions of both. */
  readonly versions: string;
  /** True for one that this process has started: it reaches registries only by the network of the machine. */
  readonly own: boolean;
  /** Runs `docker` with these words. Resolves with its standard output. @throws if it fails, with what it printed */
  docker(words: readonly string[], limitMs?: number): Promise<string>;
  /** Runs Compose in the same way, of either generation. The older one has no `--wait`, which is then left out. */
  compose(words: readonly string[]): Promise<string>;
  /** Ends an engine that this process has started. Its images stay for the next run. */
  stop(): Promise<void>;
}

/** Images and layers of an engine that a run starts. Not in the folder of the run, which may be in memory. */
export const OWN_ENGINE_FOLDER = '/var/tmp/messaging-connector-containers';
const DAEMON = '/usr/sbin/dockerd';
const ANSWERS_MS = 10_000;
const STARTS_MS = 20_000;
/** Ignore files of a Dockerfile are only known to BuildKit, which is not the default of older engines. */
const BUILD = { DOCKER_BUILDKIT: '1', COMPOSE_DOCKER_CLI_BUILD: '1' };
/** A build on a slow machine. */
const LONGEST_MS = 900_000;

/** The running engine, or one that this process starts if it is root and Debian's `dockerd` is installed; else why there is none. */
export async function findEngine(): Promise<ContainerEngine | string> {
  const { DOCKER_HOST, DOCKER_CONTEXT } = process.env;
  const given = Object.entries({ DOCKER_HOST, DOCKER_CONTEXT }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const running = await connect(Object.fromEntries(given));
  if (typeof running !== 'string' || process.getuid?.() !== 0 || !existsSync(DAEMON)) return running;
  return await startOwn();
}

/** Uses the engine that answers in this environment; else says why it cannot. */
async function connect(env: Environment, daemon?: SpawnedCommand): Promise<ContainerEngine | string> {
  const run = async (words: readonly string[], limitMs: number): Promise<string> => {
    const [program = '', ...rest] = words;
    const command = spawnCommand(program, rest, { env: { ...env, ...BUILD } });
    const over = setTimeout(() => command.signal('SIGKILL'), limitMs);
    const { code, stdout, stderr } = await command.ended.finally(() => clearTimeout(over));
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}\n${stdout}\n${stderr}`);
    return stdout.trim();
  };
  const ask = (...words: string[]): Promise<string | undefined> =>
    run(words, ANSWERS_MS).catch(() => undefined);
  const engine = await ask('docker', 'info', '--format', '{{.ServerVersion}}');
  if (engine === undefined || engine === '') return 'no container engine answers';
  const plugin = await ask('docker', 'compose', 'version', '--short');
  const compose = plugin ?? (await ask('docker-compose', 'version', '--short'));
  if (compose === undefined) return 'there is no Compose for the container engine';
  return {
    versions: `${engine} with Compose ${compose}`,
    own: daemon !== undefined,
    docker: (words, limitMs = LONGEST_MS) => run(['docker', ...words], limitMs),
    compose: (words) =>
      plugin === undefined
        ? run(['docker-compose', ...words.filter((word) => word !== '--wait')], LONGEST_MS)
        : run(['docker', 'compose', ...words], LONGEST_MS),
    async stop() {
      daemon?.signal('SIGTERM');
      await daemon?.ended;
    },
  };
}

/** Starts Debian's engine beside anything else: with its own socket, processes and data. */
async function startOwn(): Promise<ContainerEngine | string> {
  const run = join(OWN_ENGINE_FOLDER, 'run');
  await mkdir(run, { recursive: true });
  const socket = `unix://${run}/docker.sock`;
  // Debian's client before any other: it builds without a plugin.
  const env = { DOCKER_HOST: socket, PATH: `/usr/bin:/usr/sbin:${process.env['PATH']}` };
  const words = ['--data-root', join(OWN_ENGINE_FOLDER, 'data'), '--exec-root', run, '--host', socket];
  const daemon = spawnCommand(DAEMON, [...words, '--pidfile', join(run, 'pid')], { env });
  let ended = false;
  void daemon.ended.then(() => {
    ended = true;
  });
  for (let waited = 0; waited < STARTS_MS && !ended; waited += 250) {
    if (existsSync(join(run, 'docker.sock'))) {
      const engine = await connect(env, daemon);
      if (typeof engine !== 'string') return engine;
    }
    await systemClock.sleep(250);
  }
  await daemon.kill();
  return `dockerd does not start: ${daemon.stderr().trim().split('\n').at(-1)}`;
}
