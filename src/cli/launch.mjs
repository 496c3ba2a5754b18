import { refuseOldNode } from '../runtime/node-version/node-version.mjs';

/**
 * Runs a command if this Node is new enough. Otherwise prints one line on standard error; the exit code is then 1.
 * @param {() => Promise<unknown>} importCommand imports the module of the command; not called on an old Node
 * @returns {Promise<void>}
 */
export async function launch(importCommand) {
  const refusal = refuseOldNode();
  if (refusal !== undefined) {
    process.stderr.write(`${refusal}\n`);
    process.exitCode = 1;
    return;
  }
  const { cacheCompiledCode, resolveQuickly } = await import('../commands/quick-imports.ts');
  cacheCompiledCode();
  resolveQuickly();
  const { handleLostOutput } = await import('../runtime/lifecycle/lost-output.ts');
  handleLostOutput();
  await importCommand();
}
