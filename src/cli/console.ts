void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/console-command.ts')));
