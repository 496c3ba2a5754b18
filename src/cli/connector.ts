import { cacheCompiledCode } from './compile-cache.ts';

cacheCompiledCode();
await import('./connector-command.ts');
