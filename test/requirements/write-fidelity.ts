import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root.ts';
import { buildFidelityPages } from './fidelity-page.ts';

for (const [path, text] of Object.entries(buildFidelityPages())) writeFileSync(join(ROOT, path), text);
