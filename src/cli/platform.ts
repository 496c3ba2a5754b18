import { cacheCompiledCode } from './compile-cache.ts';

cacheCompiledCode();
await import('./platform-command.ts');
