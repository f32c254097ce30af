import { defineConfig } from 'vitest/config';

// `OFFSTAGE_XSTATE=production` runs the same suite against xstate's production build: some of its checks exist only in one of the two.
const isProduction = process.env.OFFSTAGE_XSTATE === 'production';
if (isProduction) process.env.NODE_ENV = 'production';

export default defineConfig({
  mode: isProduction ? 'production' : 'development',
  test: {
    include: ['test/**/*.test.ts', 'property-tests/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    server: { deps: { inline: [/xstate/] } },
  },
});
