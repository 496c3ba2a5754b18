import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

// A test or a shell may have another one, and React is three times as large then.
process.env['NODE_ENV'] = 'production';

/** A part of Node in the page would fail only when a browser runs it, so the build fails. */
const noNodeBuiltins: Plugin = {
  name: 'no-node-builtins',
  enforce: 'pre',
  resolveId(source, importer) {
    if (isBuiltin(source)) this.error(`The page imports ${source}, which only Node has (${importer}).`);
    return null;
  },
};

export default defineConfig({
  root: fileURLToPath(new URL('src', import.meta.url)),
  plugins: [noNodeBuiltins, react()],
  build: {
    outDir: fileURLToPath(new URL('../../dist/console', import.meta.url)),
    emptyOutDir: true,
    // What Chrome 111, Firefox 114 and Safari 16.4 read.
    target: 'baseline-widely-available',
    // `script-src 'self'` permits no inline code and no data: URLs.
    modulePreload: {
      polyfill: false,
      // A file imports its scripts itself, at once; only its styles must be there before it is drawn.
      resolveDependencies: (_, files) => files.filter((file) => file.endsWith('.css')),
    },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // What the page consists of, for the test of its size.
    manifest: true,
  },
});
