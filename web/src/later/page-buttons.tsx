/** What can be done from the bar at the top: to start work, for those who may, and what holds for the whole page. */
import type { JSX } from 'preact';
import { Icon } from '../icons.tsx';
import { setPaused, useCurrent, usePausedAt } from '../view/live.ts';
import { switchTheme } from '../view/theme.ts';
import { canOperate, open } from '../view/ui-store.ts';
import { useUi } from '../view/use-source.ts';
import { HELP, PAUSE, PLAY, PLUS, THEME } from './icon-paths.ts';

export function PageButtons(): JSX.Element {
  const operates = useUi(canOperate);
  const scope = useUi((ui) => ui.scope);
  const pausedAt = usePausedAt();
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
  return (
    <>
      {scope === 'observe' && <span class="tag">Read-only</span>}
      <button
        type="button"
        class="button is-quiet"
        aria-pressed={pausedAt !== null}
        title={pausedAt === null ? 'Pause live updates' : 'Resume live updates'}
        onClick={() => setPaused(pausedAt === null)}
      >
        <Icon path={pausedAt === null ? PAUSE : PLAY} /> <span class="wide">{pausedAt === null ? 'Pause' : 'Resume'}</span>
      </button>
      {operates && (
        <>
          <button type="button" class="button is-quiet" disabled={!isOpen} onClick={() => open({ name: 'new-task' })}>
            <Icon path={PLUS} /> <span>Task</span>
          </button>
          <button type="button" class="button is-primary" disabled={!isOpen} onClick={() => open({ name: 'new-job' })}>
            <Icon path={PLUS} /> <span>Job</span>
          </button>
        </>
      )}
      <button type="button" class="icon-button" aria-label="Light or dark" title="Light or dark" onClick={switchTheme}>
        <Icon path={THEME} />
      </button>
      <button type="button" class="icon-button wide" aria-label="Help" title="Help" onClick={() => open({ name: 'help' })}>
        <Icon path={HELP} />
      </button>
    </>
  );
}
