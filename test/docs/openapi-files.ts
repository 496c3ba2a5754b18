import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  buildConnectorOpenApi,
  buildSandboxOpenApi,
  buildServiceOpenApi,
} from '../../src/contract/openapi.ts';
import { ROOT } from '../support/root.ts';

/** The OpenAPI documents in docs/openapi, with the addresses of `npm start`, by their path from the root. */
export function buildOpenApiFiles(): Readonly<Record<string, string>> {
  const documents = {
    connector: buildConnectorOpenApi({ serverUrl: 'http://127.0.0.1:4020' }),
    sandbox: buildSandboxOpenApi({ serverUrl: 'http://127.0.0.1:4000/sandbox/v1' }),
    service: buildServiceOpenApi({ serverUrl: 'http://127.0.0.1:4010/api/v1' }),
  };
  return Object.fromEntries(
    Object.entries(documents).map(([name, document]) => [
      `docs/openapi/${name}.yaml`,
      stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }),
    ]),
  );
}

if (import.meta.main)
  for (const [path, text] of Object.entries(buildOpenApiFiles())) writeFileSync(join(ROOT, path), text);
