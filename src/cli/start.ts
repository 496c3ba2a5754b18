void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/start-command.ts')));
