void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/connector-command.ts')));
