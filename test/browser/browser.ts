/**
 * Chromium for the tests: `$CHROMIUM_PATH`, else one of the system, else the one that comes with the packages. Nothing is downloaded.
 *
 * The packaged one brings the libraries and the font that a bare Debian lacks. It unpacks into whatever is the temporary folder, and looks for
 * its font in another, so it gets a folder of its own per version, unpacked once, and a font configuration that names it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { type BrowserServer, chromium } from 'playwright-core';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const SYSTEM = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

interface Binary {
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** One browser for a whole run: test files connect to it by `wsEndpoint()`. */
export async function launchBrowser(): Promise<BrowserServer> {
  const { path, environment } = await chromiumBinary();
  return chromium.launchServer({
    executablePath: path,
    args: FLAGS,
    env: { ...process.env, ...environment } as Record<string, string>,
  });
}

async function chromiumBinary(): Promise<Binary> {
  const given = process.env.CHROMIUM_PATH ?? systemChromium();
  return given === null ? packagedChromium() : { path: given, environment: {} };
}

function systemChromium(): string | null {
  for (const name of SYSTEM) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      // The next one.
    }
  }
  return null;
}

async function packagedChromium(): Promise<Binary> {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const packageFile = join(entry.slice(0, entry.lastIndexOf('chromium') + 'chromium'.length), 'package.json');
  const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };
  const folder = join(tmpdir(), `offstage-chromium-${version}-${userInfo().uid}`);
  if (!existsSync(folder)) await unpackInto(folder);
  const fonts = join(folder, 'fontconfig');
  await mkdir(fonts, { recursive: true });
  await writeFile(join(fonts, 'fonts.conf'), fontConfiguration(folder));
  return {
    path: join(folder, 'chromium'),
    environment: { LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'), FONTCONFIG_PATH: fonts },
  };
}

/** Whoever comes first; the folder is there only when all of it is. */
async function unpackInto(folder: string): Promise<void> {
  const unpacking = await mkdtemp(`${folder}-`);
  const kept = { TMPDIR: process.env.TMPDIR, AWS_LAMBDA_JS_RUNTIME: process.env.AWS_LAMBDA_JS_RUNTIME };
  // Both are read when the package is loaded; the second makes it unpack its libraries too.
  process.env.TMPDIR = unpacking;
  process.env.AWS_LAMBDA_JS_RUNTIME = 'nodejs20.x';
  try {
    const { default: packaged } = await import('@sparticuz/chromium');
    await packaged.executablePath();
  } finally {
    for (const [name, value] of Object.entries(kept)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
  try {
    await rename(unpacking, folder);
  } catch (error) {
    if (!existsSync(join(folder, 'chromium'))) throw error;
    await rm(unpacking, { recursive: true });
  }
}

/** Without a font the browser dies at the first text field. */
const fontConfiguration = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, 'fontconfig', 'cache')}</cachedir>
  ${alias('system-ui', 'Open Sans')}
  ${alias('sans-serif', 'Open Sans')}
  ${alias('ui-monospace', 'DejaVu Sans Mono')}
  ${alias('monospace', 'DejaVu Sans Mono')}
</fontconfig>
`;

const alias = (family: string, preferred: string): string =>
  `<alias binding="strong"><family>${family}</family><prefer><family>${preferred}</family></prefer></alias>`;
