/**
 * A statechart with the states that are on: a picture, and the same in words.
 *
 * WCV1  What is on is told by line, fill and words, never by colour alone.
 * WCV2  The picture only has its classes toggled; it is neither drawn nor laid out here.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type ChartPicture, chartPicture } from './chart-picture.ts';
import { type ChartName, innermost, type LastEdge, markedEdges, stateInWords } from './chart-states.ts';

export interface ChartProps {
  readonly machine: ChartName;
  /** Paths of the states that are on, parents included; none: it is not known. */
  readonly active: readonly string[];
  /** How it has come there, if that is known. */
  readonly lastEdge?: LastEdge | null;
}

export function Chart({ machine, active, lastEdge = null }: ChartProps) {
  const picture = usePicture(machine);
  const holder = useRef<HTMLDivElement>(null);
  const drawn = useRef<SVGSVGElement | null>(null);
  const now = innermost(active).map(stateInWords).join(' and ');

  useLayoutEffect(() => {
    if (typeof picture === 'string' || holder.current === null) return;
    drawn.current = document.importNode(picture.svg, true);
    // The list below says the same, and says it better.
    drawn.current.setAttribute('aria-hidden', 'true');
    drawn.current.removeAttribute('role');
    drawn.current.querySelector(':scope > title')?.remove();
    holder.current.replaceChildren(drawn.current);
  }, [picture]);
  // Measured when the picture is in its place.
  const isWider = useIsWider(holder, picture);

  useLayoutEffect(() => {
    if (typeof picture === 'string' || drawn.current === null) return;
    const marked = markedEdges(picture.edges, lastEdge);
    for (const group of drawn.current.querySelectorAll<SVGGElement>('[data-state]')) {
      group.classList.toggle('is-active', active.includes(group.dataset.state ?? ''));
    }
    for (const group of drawn.current.querySelectorAll<SVGGElement>('[data-edge]')) {
      group.classList.toggle('is-last', marked.has(group.dataset.edge ?? ''));
    }
  }, [picture, active, lastEdge]);

  if (picture === 'missing') return <p class="chart-missing">The chart could not be loaded.</p>;
  if (picture === 'loading') return <p class="chart-missing">Loading the chart…</p>;
  return (
    <figure class="chart" data-machine={machine}>
      <div
        class="chart-holder"
        ref={holder}
        {...(isWider ? { tabIndex: 0, role: 'group', 'aria-label': `${picture.title}, can be scrolled` } : {})}
      />
      <figcaption class="chart-now">
        {picture.title}.{' '}
        {now === '' ? (
          'Its state is not known.'
        ) : (
          <>
            Now: <strong>{now}</strong>.
          </>
        )}
      </figcaption>
      <details class="chart-words">
        <summary>All states in words</summary>
        <ul>
          {picture.states.map(({ path, depth, title }) => {
            const isActive = active.includes(path);
            return (
              <li key={path} class={`chart-depth-${depth}`} {...(isActive ? { 'aria-current': 'true' as const } : {})}>
                {title}
                {isActive && <strong> (now)</strong>}
              </li>
            );
          })}
        </ul>
      </details>
    </figure>
  );
}

function usePicture(machine: ChartName): ChartPicture | 'loading' | 'missing' {
  const [picture, setPicture] = useState<ChartPicture | 'loading' | 'missing'>('loading');
  useEffect(() => {
    let isWanted = true;
    setPicture('loading');
    const show = (next: ChartPicture | 'missing'): void => {
      if (isWanted) setPicture(next);
    };
    chartPicture(machine).then(show, () => show('missing'));
    return () => {
      isWanted = false;
    };
  }, [machine]);
  return picture;
}

/** Whether it has to be scrolled; then it must be reached by keyboard too. */
function useIsWider(holder: { readonly current: HTMLDivElement | null }, picture: unknown): boolean {
  const [isWider, setIsWider] = useState(false);
  // The holder is there when the picture is.
  useLayoutEffect(() => {
    const element = holder.current;
    if (element === null) return;
    const measure = (): void => setIsWider(element.scrollWidth > element.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    // What observes tells of it a frame later.
    measure();
    return () => observer.disconnect();
  }, [picture]);
  return isWider;
}
