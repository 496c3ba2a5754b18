import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../../test/support/root.ts';
import { buildChecksPage, CHECKS_PAGE } from './matrix.ts';

writeFileSync(join(ROOT, CHECKS_PAGE), buildChecksPage());
