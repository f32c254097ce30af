/** The bar at the top: what runs, whether this is true now, and what holds for the whole page. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Icon, StateIcon } from './icons.tsx';
import { counted } from './model/words.ts';
import { open } from './view/act.ts';
import { setPaused, useCurrent, usePausedAt, useShown } from './view/live.ts';
import { canOperate, switchTheme } from './view/ui-store.ts';
import { useUi } from './view/use-source.ts';

const LOGO = 'M2 13V3h5v10M7 13h7M9.5 13V6.5h3V13';

export function Header(): JSX.Element {
  const operates = useUi(canOperate);
  const scope = useUi((ui) => ui.scope);
  const pausedAt = usePausedAt();
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
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
      {scope === 'observe' && <span class="tag">Read-only</span>}
      <button
        type="button"
        class="button is-quiet"
        aria-pressed={pausedAt !== null}
        title={pausedAt === null ? 'Pause live updates' : 'Resume live updates'}
        onClick={() => setPaused(pausedAt === null)}
      >
        <Icon name={pausedAt === null ? 'pause' : 'play'} /> <span class="wide">{pausedAt === null ? 'Pause' : 'Resume'}</span>
      </button>
      {operates && (
        <>
          <button type="button" class="button is-quiet" disabled={!isOpen} onClick={() => open({ name: 'new-task' })}>
            <Icon name="plus" /> <span>Task</span>
          </button>
          <button type="button" class="button is-primary" disabled={!isOpen} onClick={() => open({ name: 'new-job' })}>
            <Icon name="plus" /> <span>Job</span>
          </button>
        </>
      )}
      <button type="button" class="icon-button" aria-label="Light or dark" title="Light or dark" onClick={switchTheme}>
        <Icon name="theme" />
      </button>
      <button type="button" class="icon-button wide" aria-label="Help" title="Help" onClick={() => open({ name: 'help' })}>
        <Icon name="help" />
      </button>
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
