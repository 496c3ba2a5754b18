import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROOT } from './root.ts';

/** The parts of the Compose specification that the file uses. Other keys are refused. */
const environment = z.record(z.string(), z.string().nullable());
const service = z.strictObject({
  image: z.string(),
  build: z.string().optional(),
  user: z.string().optional(),
  command: z.array(z.string()).optional(),
  environment: environment.default({}),
  secrets: z.array(z.string()).default([]),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).default([]),
  tmpfs: z.array(z.string()).default([]),
  networks: z.union([
    z.array(z.string()),
    z.record(z.string(), z.strictObject({ ipv4_address: z.ipv4() })).transform((each) => Object.keys(each)),
  ]),
  depends_on: z
    .union([
      z.array(z.string()),
      z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })),
    ])
    .optional(),
  healthcheck: z
    .strictObject({
      test: z.tuple([z.enum(['CMD', 'CMD-SHELL'])], z.string()),
      interval: z.string(),
      timeout: z.string(),
      retries: z.int(),
    })
    .optional(),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  mem_limit: z.string().regex(/^\d+[mg]$/),
  pids_limit: z.int().positive(),
  restart: z.literal('unless-stopped'),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
});
const network = z.strictObject({
  internal: z.boolean().default(false),
  ipam: z
    .strictObject({
      config: z.tuple([z.strictObject({ subnet: z.cidrv4(), ip_range: z.cidrv4(), gateway: z.ipv4() })]),
    })
    .optional(),
});
const extension = z.templateLiteral(['x-', z.string()]);
const composeFile = z
  .looseObject({
    services: z.record(z.string(), service),
    secrets: z.record(z.string(), z.strictObject({ file: z.string().startsWith('./secrets/') })),
    networks: z.record(z.string(), network.nullable()),
    volumes: z.record(z.string(), z.null()),
  })
  .refine((file) =>
    Object.keys(file).every(
      (key) => /^(?:services|secrets|networks|volumes)$/.test(key) || extension.safeParse(key).success,
    ),
  );

/** `docker-compose.yml` with its anchors resolved. */
export type ComposeFile = z.infer<typeof composeFile>;

/** One service of `docker-compose.yml`. */
export type ComposeService = z.infer<typeof service>;

export function readComposeFile(): ComposeFile {
  return composeFile.parse(parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }));
}

/** A service of `docker-compose.yml`. */
export function readComposeService(name: string): ComposeService {
  const found = readComposeFile().services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}

/** The environment of a service: a name without a value is looked up in `.env`, here `variables`. */
export function environmentOf(
  { environment: named }: ComposeService,
  variables: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const entries = Object.entries(named).map(([name, value]) => [name, value ?? variables[name]] as const);
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
