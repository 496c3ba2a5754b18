import { runExport } from './run-export.ts';

await runExport(process.argv.slice(2));
