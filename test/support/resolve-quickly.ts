import { resolveQuickly } from '../../src/commands/quick-imports.ts';

// Preloaded by the workers of the run and by what they start with their own variables.
resolveQuickly();
