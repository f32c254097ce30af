import { defineConfig } from 'vitest/config';

// `OFFSTAGE_XSTATE=production` runs the same suite against xstate's production build: some of its checks exist only in one of the two.
const isProduction = process.env.OFFSTAGE_XSTATE === 'production';

export default defineConfig({
  ssr: {
    resolve: {
      conditions: isProduction ? ['node', 'import', 'module', 'default'] : ['development', 'node', 'import', 'module', 'default'],
      externalConditions: isProduction ? ['node'] : ['development', 'node'],
    },
  },
  test: {
    include: ['test/**/*.test.ts', 'property-tests/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    server: { deps: { inline: [/xstate/] } },
  },
});
