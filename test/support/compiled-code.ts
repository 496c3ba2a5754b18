import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where processes that tests start keep compiled code: one folder for a whole run, which ends with it. */
export const COMPILED_CODE = join(tmpdir(), 'compiled');
