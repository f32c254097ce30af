/** Parts of the page that are loaded when somebody looks at them. */
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): (props: Props) => JSX.Element | null {
  let Part: ComponentType<Props> | null = null;
  return (props) => {
    const [state, setState] = useState<'loading' | 'there' | 'missing'>(Part === null ? 'loading' : 'there');
    useEffect(() => {
      if (Part !== null) return;
      load().then(
        (loaded) => {
          Part = loaded;
          setState('there');
        },
        () => setState('missing'),
      );
    }, []);
    if (Part !== null) return <Part {...props} />;
    return state === 'missing' ? <p class="muted">It could not be loaded. Reload the page.</p> : null;
  };
}
