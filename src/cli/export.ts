void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/export-command.ts')));
