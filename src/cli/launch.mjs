import { refuseOldNode } from '../runtime/node-version/node-version.mjs';

/**
 * Runs a command, where this Node is new enough for it. Otherwise says so in one line on standard error, and the
 * exit code is 1.
 * @param {() => Promise<unknown>} importCommand imports the module that is the command; not called on an old Node
 * @returns {Promise<void>}
 */
export async function launch(importCommand) {
  const refusal = refuseOldNode();
  if (refusal !== undefined) {
    process.stderr.write(`${refusal}\n`);
    process.exitCode = 1;
    return;
  }
  const { cacheCompiledCode } = await import('../commands/compile-cache.ts');
  cacheCompiledCode();
  await importCommand();
}
