/** Builds the dashboard into dist/dashboard: relative URLs, nothing inline, so that it works below any path and under `default-src 'self'`. */
import { join } from 'node:path';
import { defineConfig } from 'vite';

const root = import.meta.dirname;

export default defineConfig({
  root,
  base: './',
  cacheDir: join(root, '..', 'node_modules', '.vite-dashboard'),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // Their development checks are nothing for a page that is shipped.
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    outDir: join(root, '..', 'dist', 'dashboard'),
    emptyOutDir: true,
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    sourcemap: false,
    modulePreload: false,
    // A data: URL would be something inline.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { strictPort: false },
});
