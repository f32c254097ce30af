/**
 * What is told to those who listen instead of look: one polite region, not more often than it can be listened to.
 *
 * DSH13  Told are: what needs a person, what has finished or failed, and what came of one's own actions. Nothing of what was there before.
 */
import { STATES, sessionState } from '../model/states.ts';
import { counted } from '../model/words.ts';
import { listenToAnnouncements } from '../view/announce.ts';
import { client } from '../view/live.ts';

const QUIET_MS = 1_000;

let said: string[] = [];
const ended = { completed: 0, errored: 0, cancelled: 0 };
let timer: ReturnType<typeof setTimeout> | null = null;
let show: (text: string) => void = () => {};

function say(text: string): void {
  said.push(text);
  schedule();
}

function schedule(): void {
  if (timer !== null) return;
  timer = setTimeout(() => {
    timer = null;
    const words = { completed: 'finished', errored: 'failed', cancelled: 'cancelled' } as const;
    for (const status of ['errored', 'completed', 'cancelled'] as const) {
      if (ended[status] > 0) said.push(`${counted(ended[status], 'job')} ${words[status]}.`);
      ended[status] = 0;
    }
    show(said.join(' '));
    said = [];
  }, QUIET_MS);
}

/** Sessions that need somebody; null until the first state, which is no news. */
let needing: Map<string, string> | null = null;

function lookWhoNeeds(): void {
  const { sessions, connection } = client.live.get();
  if (connection.status === 'connecting') return;
  const now = new Map<string, string>();
  for (const session of sessions.values()) {
    const state = sessionState(session);
    if (state !== 'permission' && state !== 'clarification') continue;
    now.set(session.sessionId, session.pending?.requestId ?? '');
    if (needing !== null && needing.get(session.sessionId) !== now.get(session.sessionId)) {
      say(`${STATES[state].label} in session ${session.sessionId}.`);
    }
  }
  needing = now;
}

/** @param listener who shows it: the element with `role="status"` */
export function announceTo(listener: (text: string) => void): () => void {
  show = listener;
  listenToAnnouncements(say);
  lookWhoNeeds();
  const endings = [
    client.live.subscribe(lookWhoNeeds),
    client.onEvent((event) => {
      if (event.type !== 'job.status') return;
      const { status } = event;
      if (status !== 'completed' && status !== 'errored' && status !== 'cancelled') return;
      ended[status] += 1;
      schedule();
    }),
  ];
  return () => {
    for (const end of endings) end();
  };
}
