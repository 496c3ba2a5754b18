void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/mcp-command.ts')));
