/**
 * What a chart's picture has to show, as data: which states are active, and along which arrow it has come there. No DOM.
 *
 * WCH1  `active` names every state that is on, parents included: `running` and `running.active`.
 * WCH2  An arrow is marked only if the event leads along it from a state that was on; one that also leads to a state that is on now goes first.
 */

export type ChartName = 'job' | 'session' | 'session-activity' | 'supervisor' | 'task';

/** The last event that has changed something, and what was on before and after. */
export interface LastEdge {
  readonly event: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
}

/** Where an arrow begins that the chart takes in each of its states. */
const WHOLE = '*';

/** The value of an XState snapshot as paths. */
export function activePaths(value: unknown, prefix = ''): readonly string[] {
  if (typeof value === 'string') return [prefix + value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [prefix + key, ...activePaths(inner, `${prefix}${key}.`)]);
}

/** Which of `from|event|to` are to be marked. */
export function markedEdges(edges: readonly string[], last: LastEdge | null): ReadonlySet<string> {
  if (last === null) return new Set();
  const taken = edges
    .map((edge) => ({ edge, parts: edge.split('|') }))
    .filter(({ parts: [from = '', event] }) => event === last.event && (from === WHOLE || last.from.includes(from)));
  const arrived = taken.filter(({ parts: [, , to = ''] }) => last.to.includes(to));
  return new Set((arrived.length > 0 ? arrived : taken).map(({ edge }) => edge));
}

/** The innermost states that are on, for a sentence. */
export const innermost = (active: readonly string[]): readonly string[] =>
  active.filter((path) => !active.some((other) => other.startsWith(`${path}.`)));

export const stateInWords = (path: string): string => path.replaceAll('.', ', ').replaceAll(/[_-]/g, ' ');
