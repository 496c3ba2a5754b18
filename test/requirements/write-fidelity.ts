import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root.ts';
import { buildFidelityPage, FIDELITY_PAGE } from './fidelity-page.ts';

writeFileSync(join(ROOT, FIDELITY_PAGE), buildFidelityPage());
