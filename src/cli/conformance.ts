import { cacheCompiledCode } from './compile-cache.ts';

cacheCompiledCode();
await import('./conformance-command.ts');
