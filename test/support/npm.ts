import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { spawnCommand } from './spawn-command.ts';

/** The variables that tell npm its registry. */
export const NPM_ENV = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined &&
    /^(?:npm_config_(?:registry|cache|userconfig|cafile)|(?:https?|no)_proxy|node_extra_ca_certs)$/i.test(
      name,
    )
      ? [[name, value] as const]
      : [],
  ),
);

/** What a compiled file imports. */
const IMPORT = /(?:^(?:import|export)\b.* from |^import |\bimport\()'([^']+)'/gm;

/** The packages that compiled files import, themselves and through other files. */
export function importsOf(...files: readonly string[]): string[] {
  const reached = new Set(files);
  const packages = new Set<string>();
  for (const file of reached) {
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      if (name.startsWith('.')) reached.add(join(dirname(file), name));
      else if (!name.startsWith('node:')) packages.add(/^(?:@[\w.-]+\/)?[\w.-]+/.exec(name)?.[0] ?? name);
    }
  }
  return [...packages].sort();
}

/** Waits for the end of a command. @throws if it fails, with what it printed */
export async function mustSucceed(command: ReturnType<typeof spawnCommand>): Promise<void> {
  const { code, stdout, stderr } = await command.ended;
  if (code !== 0) throw new Error(`ended with ${code}\n${stdout}\n${stderr}`);
}
