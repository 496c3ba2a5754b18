import { runConsumers } from './run-consumers.ts';

await runConsumers(process.argv.slice(2));
