import { defineConfig } from 'vitest/config';

// `OFFSTAGE_XSTATE=production` runs the same suite against xstate's production build: some of its checks exist only in one of the two.
const isProduction = process.env.OFFSTAGE_XSTATE === 'production';
if (isProduction) process.env.NODE_ENV = 'production';

const BROWSER = 'test/browser/**/*.test.ts';

export default defineConfig({
  mode: isProduction ? 'production' : 'development',
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    server: { deps: { inline: [/xstate/] } },
    projects: [
      {
        extends: true,
        test: { name: 'node', include: ['test/**/*.test.ts', 'property-tests/**/*.test.ts'], exclude: [BROWSER] },
      },
      {
        extends: true,
        test: { name: 'browser', include: [BROWSER], globalSetup: ['test/browser/global-setup.ts'] },
      },
    ],
  },
});
