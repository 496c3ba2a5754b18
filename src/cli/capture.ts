void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/capture-command.ts')));
