void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/scenario-command.ts')));
