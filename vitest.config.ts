import { defineConfig } from 'vitest/config';

const BROWSER = 'test/browser/**/*.test.ts';

// `OFFSTAGE_XSTATE=production` runs the suite against xstate's production build: some of its checks exist only in one of the two. Programs
// of their own load that build in any case, so the folders whose tests only start programs are not run a second time, nor is the browser, nor
// what spoils input or judges facts: that has to do with parsers and checkers, and with no chart.
const PROGRAMS = [
  ...['cli', 'crash', 'examples', 'testing/simulation'].map((folder) => `test/${folder}/**`),
  'property-tests/fuzz/**',
];
const isProduction = process.env.OFFSTAGE_XSTATE === 'production';
if (isProduction) process.env.NODE_ENV = 'production';

const node = {
  extends: true as const,
  test: {
    name: 'node',
    include: ['test/**/*.test.ts', 'property-tests/**/*.test.ts'],
    exclude: [BROWSER, ...(isProduction ? PROGRAMS : [])],
  },
};
// The pictures of docs/images are taken by the same harness, when they are asked for: they test nothing.
const PICTURES = process.env.OFFSTAGE_SCREENSHOTS === undefined ? [] : ['test/browser/screenshots.ts'];
const browser = {
  extends: true as const,
  test: {
    name: 'browser',
    // What a page shows follows a moment later.
    expect: { poll: { timeout: 15_000 } },
    include: [BROWSER, ...PICTURES],
    globalSetup: ['test/browser/global-setup.ts'],
  },
};

export default defineConfig({
  mode: isProduction ? 'production' : 'development',
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    server: { deps: { inline: [/xstate/] } },
    projects: isProduction ? [node] : [node, browser],
  },
});
