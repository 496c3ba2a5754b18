import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../../test/support/root.ts';
import { buildCertifyPage, CERTIFY_PAGE } from './matrix.ts';

writeFileSync(join(ROOT, CERTIFY_PAGE), buildCertifyPage());
