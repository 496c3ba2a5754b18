void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/sandbox-command.ts')));
