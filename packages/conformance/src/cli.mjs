#!/usr/bin/env node
import { refuseOldNode } from '../../../src/runtime/node-version/node-version.mjs';

const refusal = refuseOldNode();
if (refusal === undefined) await import('./command.ts');
else {
  process.stderr.write(`${refusal}\n`);
  process.exitCode = 1;
}
