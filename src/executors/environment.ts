/**
 * The environment of a child: a short list of harmless variables of this process, and what the job itself brings (spec 12, B74).
 *
 * ENV1  Nothing of this process's environment gets through that is neither on the list nor allowed by the host.
 * ENV2  The launch token always gets through, whatever the job brings.
 */
import { offstageError } from '../model/errors.ts';
import { TOKEN_NAME } from './process-table.ts';

/** Who, where, which language and terminal. Nothing that grants access to anything; `LC_*` stands for all names that begin so. */
const HARMLESS = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'TZ',
  'TMPDIR',
];

export interface ChildEnvironmentOptions {
  /** The environment to choose from. */
  readonly host: Readonly<Record<string, string | undefined>>;
  /** Further names that may be passed on; a final `*` matches any ending. */
  readonly allow: readonly string[];
  /** What the job brings; wins over the host's. */
  readonly own: Readonly<Record<string, string>>;
  readonly executionId: string;
}

export function childEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const allowed = [...HARMLESS, ...options.allow];
  const environment = new Map<string, string>();
  for (const [name, value] of Object.entries(options.host)) {
    if (value !== undefined && allowed.some((pattern) => matches(pattern, name))) environment.set(name, value);
  }
  for (const [name, value] of Object.entries(options.own)) environment.set(name, value);
  environment.set(TOKEN_NAME, options.executionId);
  return Object.fromEntries(environment);
}

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;

/**
 * Checks the names that a host allows.
 * @throws config.invalid for anything but names; `*` alone is refused, since it would pass on every secret there is
 */
export function checkAllowList(allow: readonly string[]): readonly string[] {
  const isFine = Array.isArray(allow) && allow.every((name) => typeof name === 'string' && /^[^=*\0]+\*?$/.test(name));
  if (isFine) return [...allow];
  throw offstageError('config.invalid', {
    option: 'environment.allow',
    message: 'give names of variables, such as "HTTP_PROXY" or "NPM_*"',
  });
}
