import { defineConfig } from 'vitest/config';

// `OFFSTAGE_XSTATE=production` runs the suite against xstate's production build: some of its checks exist only in one of the two. Programs
// of their own load that build in any case, so the folders whose tests only start programs are not run a second time.
const PROGRAMS = ['cli', 'crash', 'examples', 'browser'].map((folder) => `test/${folder}/**`);
const isProduction = process.env.OFFSTAGE_XSTATE === 'production';
if (isProduction) process.env.NODE_ENV = 'production';

export default defineConfig({
  mode: isProduction ? 'production' : 'development',
  test: {
    include: ['test/**/*.test.ts', 'property-tests/**/*.test.ts'],
    exclude: isProduction ? PROGRAMS : [],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    server: { deps: { inline: [/xstate/] } },
  },
});
