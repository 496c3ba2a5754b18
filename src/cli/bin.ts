#!/usr/bin/env node
void import('./launch.mjs').then(({ launch }) => launch(() => import('../commands/bin-command.ts')));
