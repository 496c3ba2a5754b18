void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/certify-command.ts')));
