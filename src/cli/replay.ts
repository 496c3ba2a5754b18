import { cacheCompiledCode } from './compile-cache.ts';

cacheCompiledCode();
await import('./replay-command.ts');
