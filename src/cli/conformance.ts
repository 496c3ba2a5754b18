void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/conformance-command.ts')));
