/**
 * The tree-list: tasks, in them their sessions, in these their jobs, as the flat list of rows that is shown.
 *
 * DSH6  Among siblings the more urgent comes first (DSH1), then the newer one.
 * DSH7  While the order is held, rows that were shown keep their places relative to each other; new ones come behind them.
 * DSH8  A filter shows what matches and what it lies in.
 */
import type { SessionView, TaskView } from '../../../src/model/activity.ts';
import type { JobStatus } from '../../../src/model/records.ts';
import type { JobRow } from './client.ts';
import { jobState, STATES, type StateKey, sessionState, taskState } from './states.ts';

export type Kind = 'task' | 'session' | 'job';

/** What a filter chip asks for: states of sessions, or of jobs. */
export const FILTERS = {
  'needs-you': { of: 'session', states: ['permission', 'clarification'] },
  generating: { of: 'session', states: ['generating'] },
  background: { of: 'session', states: ['background-running'] },
  running: { of: 'job', states: ['background-running', 'cancelling'] },
  queued: { of: 'job', states: ['queued'] },
  errored: { of: 'job', states: ['errored'] },
  cancelled: { of: 'job', states: ['cancelled'] },
  completed: { of: 'job', states: ['completed'] },
} as const satisfies Readonly<Record<string, { of: Kind; states: readonly StateKey[] }>>;

export type Filter = keyof typeof FILTERS;

/** Of a live state, what rows are made of. */
export interface Content {
  readonly tasks: ReadonlyMap<string, TaskView>;
  readonly sessions: ReadonlyMap<string, SessionView>;
  readonly jobs: ReadonlyMap<string, JobRow>;
}

interface Common {
  /** Unlike an id it is unique over all kinds. */
  readonly key: string;
  readonly id: string;
  readonly state: StateKey;
  readonly title: string;
  /** 1 is a task. */
  readonly level: number;
  readonly hasChildren: boolean;
  readonly isOpen: boolean;
  /** Place among its siblings, from 1, and how many they are. */
  readonly place: number;
  readonly siblings: number;
}

export type Row = Common &
  (
    | { readonly kind: 'task'; readonly item: TaskView }
    | { readonly kind: 'session'; readonly item: SessionView }
    | { readonly kind: 'job'; readonly item: JobRow }
  );

export const keyOf = (kind: Kind, id: string): string => `${kind}:${id}`;

export interface RowQuery {
  readonly search: string;
  readonly show: readonly Filter[];
  /** Keys of rows that are open or closed unlike they would be. */
  readonly toggled: ReadonlySet<string>;
  /** Places in the list that is shown, while the order is held. */
  readonly held: ReadonlyMap<string, number> | null;
}

interface Node {
  readonly kind: Kind;
  readonly id: string;
  readonly key: string;
  readonly item: TaskView | SessionView | JobRow;
  readonly title: string;
  readonly createdAt: number;
  state: StateKey;
  isMatch: boolean;
  children: Node[];
}

const node = (kind: Kind, id: string, item: Node['item'], title: string, state: StateKey): Node => ({
  kind,
  id,
  key: keyOf(kind, id),
  item,
  title,
  createdAt: item.createdAt,
  state,
  isMatch: true,
  children: [],
});

export interface RowList {
  readonly rows: readonly Row[];
  /** Jobs that match the filter, the ones in closed rows included. */
  readonly matching: readonly JobRow[];
  readonly isFiltered: boolean;
}

export function buildRows({ tasks, sessions, jobs }: Content, query: RowQuery): RowList {
  const isMatch = matcher(query);
  const roots: Node[] = [];
  const taskNodes = new Map<string, Node>();
  const sessionNodes = new Map<string, Node>();
  const jobNodes = new Map<string, Node>();
  const within = new Map<string, Set<StateKey>>();
  const matching: JobRow[] = [];
  const putAway = new Set<string>();
  for (const task of tasks.values()) {
    if (isPutAway(task)) putAway.add(task.taskId);
    if (putAway.has(task.taskId)) continue;
    const made = node('task', task.taskId, task, task.title || task.taskId, 'idle');
    taskNodes.set(task.taskId, made);
    within.set(task.taskId, new Set());
    roots.push(made);
  }
  for (const session of sessions.values()) {
    if (putAway.has(session.taskId)) continue;
    const made = node('session', session.sessionId, session, sessionTitle(session), sessionState(session));
    within.get(session.taskId)?.add(made.state);
    sessionNodes.set(session.sessionId, made);
    (taskNodes.get(session.taskId)?.children ?? roots).push(made);
  }
  for (const job of jobs.values()) {
    if (putAway.has(job.taskId)) continue;
    const made = node('job', job.jobId, job, job.subject, jobState(job));
    within.get(job.taskId)?.add(made.state);
    jobNodes.set(job.jobId, made);
  }
  for (const made of jobNodes.values()) {
    const { parentJobId, sessionId } = made.item as JobRow;
    const parent = parentJobId === null ? undefined : jobNodes.get(parentJobId);
    const place = parent && (parent.item as JobRow).sessionId === sessionId ? parent : sessionNodes.get(sessionId);
    (place?.children ?? roots).push(made);
    if (isMatch === null) continue;
    made.isMatch = isMatch(made);
    if (made.isMatch) matching.push(made.item as JobRow);
  }
  for (const made of taskNodes.values()) made.state = taskState(made.item as TaskView, within.get(made.id) ?? new Set());
  if (isMatch !== null) {
    for (const made of [...taskNodes.values(), ...sessionNodes.values()]) made.isMatch = isMatch(made);
  }
  const rows: Row[] = [];
  place(isMatch === null ? roots : roots.filter(keepMatching), 1, rows, query, isMatch !== null);
  return { rows, matching, isFiltered: isMatch !== null };
}

/** DSH8: whether it or anything in it matches; what does not is taken out. */
function keepMatching(made: Node): boolean {
  made.children = made.children.filter(keepMatching);
  return made.isMatch || made.children.length > 0;
}

function place(nodes: Node[], level: number, rows: Row[], query: RowQuery, isFiltered: boolean): void {
  sortNodes(nodes, query.held);
  for (const [index, { kind, id, key, item, title, state, children }] of nodes.entries()) {
    const hasChildren = children.length > 0;
    const isOpen = hasChildren && (isFiltered || isOpenByItself(kind, item) !== query.toggled.has(key));
    rows.push({ kind, id, key, item, title, state, level, hasChildren, isOpen, place: index + 1, siblings: nodes.length } as Row);
    if (isOpen) place(children, level + 1, rows, query, isFiltered);
  }
}

/** As the engine lists them: an archived task is shown for as long as something of it is at work. */
const isPutAway = ({ state, foregroundActivity, runningJobs }: TaskView): boolean =>
  state === 'archived' && foregroundActivity === null && runningJobs === 0;

const OVER: ReadonlySet<string> = new Set(['done', 'archived', 'cancelled']);

/** What the host is done with starts closed. */
const isOpenByItself = (kind: Kind, item: Node['item']): boolean => kind !== 'task' || !OVER.has((item as TaskView).state);

function sortNodes(nodes: Node[], held: RowQuery['held']): void {
  nodes.sort((a, b) => {
    const placeA = held?.get(a.key);
    const placeB = held?.get(b.key);
    if (placeA !== undefined && placeB !== undefined) return placeA - placeB;
    if (placeA !== undefined) return -1;
    if (placeB !== undefined) return 1;
    return STATES[a.state].rank - STATES[b.state].rank || b.createdAt - a.createdAt || (a.key < b.key ? 1 : -1);
  });
}

/** Null: everything matches. */
function matcher({ search, show }: RowQuery): ((made: Node) => boolean) | null {
  const terms = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (terms.length === 0 && show.length === 0) return null;
  const wanted = show.map((name) => FILTERS[name]);
  return ({ kind, id, title, state, item }) => {
    if (wanted.length > 0 && !wanted.some(({ of, states }) => of === kind && (states as readonly string[]).includes(state)))
      return false;
    if (terms.length === 0) return true;
    const { agentId, kind: jobKind } = item as Partial<JobRow>;
    const text = `${title} ${id} ${agentId ?? ''} ${jobKind ?? ''}`.toLowerCase();
    return terms.every((term) => text.includes(term));
  };
}

/** Made-up ids say nothing to a person: their end is enough. */
export const sessionTitle = ({ sessionId, agentId }: Pick<SessionView, 'sessionId' | 'agentId'>): string => {
  const short = shortId(sessionId);
  return agentId === null || short === sessionId ? short : short.replace(/^session\b/, () => agentId);
};

export const shortId = (id: string): string =>
  id.replace(/^([a-z]+)_[0-9a-z_]{16,}([0-9a-z]{6})$/i, (_, word, end) => `${word} …${end}`);

/** How many a chip counts. Jobs are counted by the engine, also those that are not loaded. */
export function filterCounts(
  { sessions }: Pick<Content, 'sessions'>,
  counts: Readonly<Partial<Record<JobStatus, number>>>,
): Readonly<Record<Filter, number>> {
  const bySession = (filter: 'needs-you' | 'generating' | 'background'): number => {
    let count = 0;
    for (const session of sessions.values()) {
      if ((FILTERS[filter].states as readonly string[]).includes(sessionState(session))) count += 1;
    }
    return count;
  };
  return {
    'needs-you': bySession('needs-you'),
    generating: bySession('generating'),
    background: bySession('background'),
    running: counts.running ?? 0,
    queued: (counts.queued ?? 0) + (counts.pending ?? 0),
    errored: counts.errored ?? 0,
    cancelled: counts.cancelled ?? 0,
    completed: counts.completed ?? 0,
  };
}
