import { runMcp } from './run-mcp.ts';

await runMcp(process.argv.slice(2), process.stdin);
