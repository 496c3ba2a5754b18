import { cacheCompiledCode } from './compile-cache.ts';

cacheCompiledCode();
await import('./doctor-command.ts');
