import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/root.ts';
import { buildWhatYouGet, WHAT_YOU_GET_PAGE } from './page.ts';

writeFileSync(join(ROOT, WHAT_YOU_GET_PAGE), buildWhatYouGet());
