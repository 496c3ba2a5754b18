void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/doctor-command.ts')));
