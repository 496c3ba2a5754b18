import { cacheCompiledCode } from './compile-cache.ts';

cacheCompiledCode();
await import('./start-command.ts');
