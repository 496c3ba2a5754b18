void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/replay-command.ts')));
