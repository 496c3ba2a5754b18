void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/platform-command.ts')));
