import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BENCH_FOLDER = fileURLToPath(new URL('../', import.meta.url));
const INSTALLED = join(BENCH_FOLDER, 'node_modules', '@supabase', 'stripe-sync-engine', 'package.json');

/**
 * Installs what `bench/package.json` names, from its lock file, unless it is there already.
 * Returns the reason in one sentence if that fails.
 */
export async function installPeers(progress: (line: string) => void): Promise<string | undefined> {
  const installed = await access(INSTALLED).then(
    () => true,
    () => false,
  );
  if (installed) return undefined;
  progress('installing the receiver to compare with (npm ci in bench/, once)');
  return new Promise((resolve) => {
    const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
      cwd: BENCH_FOLDER,
      stdio: ['ignore', 'ignore', 'pipe'],
      shell: process.platform === 'win32',
    });
    let errors = '';
    npm.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-2000);
    });
    npm.once('error', (error) => resolve(`npm did not start: ${error.message}`));
    npm.once('close', (code) => resolve(code === 0 ? undefined : `npm ci failed: ${lastError(errors)}`));
  });
}

function lastError(text: string): string {
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('npm error') && !line.includes('A complete log'));
  return lines.slice(0, 2).join(' ') || 'no reason given';
}
