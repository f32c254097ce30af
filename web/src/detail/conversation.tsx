/**
 * What the agent says while this page is open. Offstage keeps no transcript: that is its host's, so an older word is not here.
 */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { client } from '../view/live.ts';
import { Section } from './parts.tsx';

/** Characters kept of each session, and sessions of which any are kept. */
const KEPT = 40_000;
const SESSIONS = 50;
const DRAW_MS = 100;

export interface Piece {
  readonly channel: 'message' | 'thought' | 'end';
  readonly generation: number;
  text: string;
}

const heard = new Map<string, Piece[]>();
const listeners = new Set<(sessionId: string) => void>();

client.onEvent((event) => {
  if (event.type === 'session.output') add(event.sessionId, event);
  else if (event.type === 'session.turn_ended') {
    const why = event.error?.message ?? (event.stopReason === 'end_turn' ? null : event.stopReason);
    add(event.sessionId, { channel: 'end', generation: event.generation, text: why === null ? '' : `Turn ended: ${why}` });
  }
});

function add(sessionId: string, { channel, generation, text }: Piece): void {
  const pieces = heard.get(sessionId) ?? [];
  heard.delete(sessionId);
  heard.set(sessionId, pieces);
  const last = pieces.at(-1);
  if (last?.channel === channel && last.generation === generation) last.text = (last.text + text).slice(-KEPT);
  else pieces.push({ channel, generation, text });
  let kept = 0;
  const from = pieces.findLastIndex((piece) => {
    kept += piece.text.length;
    return kept > KEPT;
  });
  if (from > 0) pieces.splice(0, from);
  if (heard.size > SESSIONS) heard.delete(heard.keys().next().value as string);
  for (const listener of listeners) listener(sessionId);
}

export function Conversation({ sessionId }: { readonly sessionId: string }): JSX.Element | null {
  const [, setCount] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const listener = (id: string): void => {
      if (id !== sessionId) return;
      timer ??= setTimeout(() => {
        timer = null;
        setCount((count) => count + 1);
      }, DRAW_MS);
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (timer !== null) clearTimeout(timer);
    };
  }, [sessionId]);
  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  });
  const pieces = heard.get(sessionId) ?? [];
  const aside = <span class="muted">since this page is open</span>;
  if (pieces.length === 0)
    return (
      <Section title="What the agent says" aside={aside}>
        <p class="muted">Nothing since this page is open. What it has said before is kept by its host, not here.</p>
      </Section>
    );
  return (
    <Section title="What the agent says" aside={aside}>
      <div class="said" ref={box} tabIndex={0} role="log" aria-live="off" aria-label="What the agent says" data-testid="said">
        {pieces.map(({ channel, text }, index) =>
          text === '' ? (
            <hr key={index} />
          ) : (
            <p key={index} class={`is-${channel}`}>
              {text}
            </p>
          ),
        )}
      </div>
    </Section>
  );
}
