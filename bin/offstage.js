#!/usr/bin/env node
/** The command line. What it does is in src/doors/cli. */
try {
  await import('../dist/doors/cli/main.js');
} catch (error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !String(error.message).includes('main.js')) throw error;
  process.stderr.write('offstage: this copy was not built yet. Run "npm run build" in its folder first.\n');
  process.exitCode = 1;
}
