/**
 * Parts of the page that the first view can do without: they are loaded when it stands, or when somebody wants them sooner.
 *
 * DSH19  What cannot be loaded says so: after an update of the server the page is an old one.
 */
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface Lazy<Props> {
  (props: Props): JSX.Element | null;
  /** Loads it, if it is not loaded yet. */
  load(): Promise<void>;
}

export function lazily<Props extends object>(importIt: () => Promise<ComponentType<Props>>): Lazy<Props> {
  let Part: ComponentType<Props> | null = null;
  let isMissing = false;
  const load = async (): Promise<void> => {
    if (Part !== null) return;
    try {
      Part = await importIt();
      isMissing = false;
    } catch {
      isMissing = true;
    }
  };
  const Component = (props: Props): JSX.Element | null => {
    const [, redraw] = useState(0);
    useEffect(() => {
      if (Part === null) void load().then(() => redraw(1));
    }, []);
    if (Part !== null) return <Part {...props} />;
    return isMissing ? <p class="hint">This part of the page could not be loaded. Reload the page.</p> : null;
  };
  return Object.assign(Component, { load });
}
