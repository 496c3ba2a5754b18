import { extname, join } from 'node:path';
import { createClusterProcesses } from '../runtime/supervisor/cluster-processes.ts';
import { createSupervisor } from '../runtime/supervisor/supervisor.ts';
import { type CommandOptions, readInteger } from './command-line.ts';
import type { ConnectorOptions } from './connector-options.ts';
import { CONNECTOR_SHUTDOWN_MS } from './connector-shutdown.ts';
import type { CommandContext } from './run-command.ts';
import { serveUntilStopped } from './serve-until-stopped.ts';

const MAX_PROCESSES = 64;
/** A process with little CPU time may exceed its own deadline slightly. */
const DRAIN_MS = CONNECTOR_SHUTDOWN_MS + 5_000;
const SHUTDOWN_MS = DRAIN_MS + 5_000;
/** The program, as source or compiled. */
const SCRIPT = join(import.meta.dirname, `../cli/connector${extname(import.meta.filename)}`);

/** The number of processes that `--processes` requests; undefined without it. @throws UsageError */
export function readProcesses(options: CommandOptions): number | undefined {
  const isCount = (count: number): boolean => count >= 1 && count <= MAX_PROCESSES;
  return readInteger(options, 'processes', `a number from 1 to ${MAX_PROCESSES}`, isCount);
}

/**
 * Runs several connector processes on one port until a signal stops them. SIGHUP replaces them one by one;
 * each new process reads its settings again. A process that crashes is replaced.
 */
export async function superviseConnector(
  { options, clock, print, typos }: CommandContext,
  { logLevel: level, role }: ConnectorOptions,
  count: number,
): Promise<void> {
  const destination = options['json'] ? 'stderr' : 'stdout';
  const serving = { level, name: 'supervisor', destination, typos, clock, shutdownMs: SHUTDOWN_MS } as const;
  await serveUntilStopped(serving, async ({ logger, lifecycle }) => {
    const processes = createClusterProcesses({ script: SCRIPT, words: process.argv.slice(2), clock });
    const { launch } = processes;
    const supervisor = createSupervisor({ count, launch, drainMs: DRAIN_MS, clock, logger });
    lifecycle.onClose('processes', async () => {
      if (!(await supervisor.stop())) throw new Error('a process did not exit as expected');
    });
    process.on('SIGHUP', () => void supervisor.roll());
    await supervisor.start();
    const url = processes.url();
    if (options['json']) print(`${JSON.stringify({ connectorUrl: url })}\n`);
    else
      logger.info(
        { url, role, count, pid: process.pid },
        'all processes ready; SIGHUP replaces them one by one',
      );
  });
}
