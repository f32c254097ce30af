/** Builds dist/ with the pinned compiler; incremental, so that commands can call it every time. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawDashboardCharts } from './charts.mjs';
import { buildDashboard } from './dashboard.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const built = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], { cwd: root, stdio: 'inherit' });
process.exitCode = built.status ?? 1;
if (built.status === 0) {
  await drawDashboardCharts();
  await buildDashboard();
}
