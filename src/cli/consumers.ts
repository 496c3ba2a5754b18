void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/consumers-command.ts')));
