/** The bar at the top: what runs, and whether this is true now. What can be done from here comes later than the first view. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { StateIcon } from './icons.tsx';
import { counted } from './model/words.ts';
import { useLater } from './view/later.ts';
import { useCurrent, usePausedAt, useShown } from './view/live.ts';

const LOGO = 'M2 13V3h5v10M7 13h7M9.5 13V6.5h3V13';

export function Header(): JSX.Element {
  const later = useLater();
  return (
    <header class="bar">
      <h1 class="brand">
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d={LOGO} />
        </svg>
        <span class="wide">Offstage</span>
      </h1>
      <RunningBadge />
      <ConnectionWord />
      <span class="spacer" />
      {later && <later.PageButtons />}
    </header>
  );
}

/** The same number as a list of running jobs has (seed 000 D11, B61). */
function RunningBadge(): JSX.Element {
  const running = useShown(({ counts }) => counts.running);
  useEffect(() => {
    document.title = running > 0 ? `(${running}) Offstage` : 'Offstage';
  }, [running]);
  return (
    <span
      class={`badge${running > 0 ? ' is-on' : ''}`}
      data-testid="running-count"
      data-count={running}
      title={`${counted(running, 'job')} running`}
    >
      <StateIcon state={running > 0 ? 'background-running' : 'idle'} of="badge" isMute />
      <span>
        {running.toLocaleString('en')}
        <span class="roomy"> running</span>
      </span>
    </span>
  );
}

const WORDS = { connecting: 'Connecting…', open: 'Live', lost: 'Disconnected', refused: 'No access' } as const;

function ConnectionWord(): JSX.Element {
  const status = useCurrent(({ connection }) => connection.status);
  const pausedAt = usePausedAt();
  const word = status === 'open' && pausedAt !== null ? 'Paused' : WORDS[status];
  return (
    <span class="connection" data-testid="connection" data-status={status}>
      <span class="dot" aria-hidden="true" />
      <span class="wide">{word}</span>
    </span>
  );
}
