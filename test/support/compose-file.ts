import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROOT } from './spawn-command.ts';

const healthcheck = z.object({ test: z.tuple([z.literal('CMD')], z.string()) });
const service = z.object({
  image: z.string().optional(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  env_file: z.string().optional(),
  environment: z.record(z.string(), z.string()).optional(),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  healthcheck: healthcheck.optional(),
});
const composeFile = z.object({ services: z.record(z.string(), service) });

/** One service of `docker-compose.yml`. */
export type ComposeService = z.infer<typeof service>;

/** A service of `docker-compose.yml`, with `${NAME}` and `${NAME:?…}` replaced from `variables`. */
export function readComposeService(
  name: string,
  variables: Readonly<Record<string, string>>,
): ComposeService {
  const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
  const filled = text.replace(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, variable: string) => {
    const value = variables[variable];
    if (value === undefined) throw new Error(`docker-compose.yml needs ${variable}`);
    return value;
  });
  const found = composeFile.parse(parse(filled, { merge: true })).services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}
