import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { findFreePort } from './find-free-port.ts';
import { readProjectFile } from './markdown.ts';

/** Why the tests with a proxy cannot run here, or undefined if they can. */
export const HAPROXY_MISSING =
  spawnSync('haproxy', ['-v']).status === 0 ? undefined : 'there is no haproxy on this machine';

/** The project's proxy, in front of processes of a test. */
export interface TestProxy {
  readonly url: string;
  /** Resolves when the proxy sends requests to every web. */
  allUp(): Promise<void>;
  /** Requests that were sent to another web process, or again to the same one, because the first attempt failed. */
  repeated(): Promise<number>;
  /** What it has logged so far. */
  log(): string;
  stop(): Promise<void>;
}

/** Columns of `show stat` that are read. */
const COLUMN = { proxy: 0, server: 1, retries: 15, redispatches: 16, status: 17 } as const;
const BACKENDS = ['webhooks', 'api'];

/**
 * Starts `haproxy` with the configuration of the project. Only addresses are changed: the listener's, and
 * those of the webs. With a certificate it terminates TLS.
 */
export async function startTestProxy(
  webs: readonly string[],
  certificate?: { readonly cert: string; readonly key: string },
): Promise<TestProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'test-haproxy-'));
  const port = await findFreePort();
  const socket = join(folder, 'stats.sock');
  const pem = join(folder, 'tls.pem');
  if (certificate !== undefined) await writeFile(pem, `${certificate.cert}\n${certificate.key}`);
  const file = join(folder, 'haproxy.cfg');
  let text = readProjectFile('examples/haproxy/haproxy.cfg')
    .replace('bind :4020', `bind 127.0.0.1:${port}${certificate === undefined ? '' : ` ssl crt ${pem}`}`)
    .replace(/^global$/m, `global\n  stats socket ${socket}`);
  webs.forEach((web, index) => {
    text = text.replaceAll(`web-${index + 1}:4020`, new URL(web).host);
  });
  await writeFile(file, text);
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  }
  const ended = once(child, 'exit');

  async function readRows(): Promise<string[][]> {
    const answer = await ask(socket, 'show stat');
    if (answer === undefined && child.exitCode !== null) throw new Error(`haproxy ended\n${printed}`);
    return (answer ?? '').split('\n').map((line) => line.split(','));
  }

  /** Rows of webs in our backends. */
  async function readServers(): Promise<string[][]> {
    return (await readRows()).filter(
      (row) => BACKENDS.includes(row[COLUMN.proxy] ?? '') && row[COLUMN.server]?.startsWith('web-') === true,
    );
  }

  async function allUp(): Promise<void> {
    for (;;) {
      const servers = await readServers();
      const up = servers.filter((row) => row[COLUMN.status] === 'UP');
      if (up.length === BACKENDS.length * webs.length) return;
      await systemClock.sleep(20);
    }
  }

  await allUp();
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    allUp,
    async repeated() {
      const rows = await readServers();
      const sum = (column: number): number => rows.reduce((total, row) => total + Number(row[column]), 0);
      return sum(COLUMN.retries) + sum(COLUMN.redispatches);
    },
    log: () => printed,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

/** What the proxy answers to a command; undefined while it does not listen. */
async function ask(path: string, command: string): Promise<string | undefined> {
  return await new Promise((resolve) => {
    let answer = '';
    const socket = connect(path, () => socket.write(`${command}\n`));
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
    });
    socket.once('end', () => resolve(answer));
    socket.once('error', () => resolve(undefined));
  });
}
