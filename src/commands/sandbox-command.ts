import { runSandbox } from './run-sandbox.ts';

await runSandbox(process.argv.slice(2));
