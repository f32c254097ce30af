/** What the details of all things are made of. */
import type { ComponentChildren, JSX } from 'preact';
import { Icon, StateIcon } from '../icons.tsx';
import { BACK, COPY } from '../later/icon-paths.ts';
import { jsonText } from '../model/long-words.ts';
import type { Kind } from '../model/rows.ts';
import type { StateKey } from '../model/states.ts';
import { act } from '../view/act.ts';
import { useCurrent } from '../view/live.ts';
import { select } from '../view/ui-store.ts';

interface HeadProps {
  readonly kind: Kind;
  readonly state: StateKey;
  readonly title: string;
  readonly sentence: string;
  /** What it lies in, outermost first. */
  readonly path: readonly { readonly kind: Kind; readonly id: string; readonly title: string }[];
  readonly children: ComponentChildren;
}

export function Head({ kind, state, title, sentence, path, children }: HeadProps): JSX.Element {
  return (
    <header class="head">
      <nav class="path" aria-label="Where it lies">
        <button type="button" class="link back" onClick={() => select(null)}>
          <Icon path={BACK} /> List
        </button>
        {path.map((step) => (
          <LinkTo key={step.id} {...step} />
        ))}
        <span class="path-kind">{kind}</span>
      </nav>
      <h2>
        <StateIcon state={state} of="detail" />
        <span class="head-title">{title}</span>
      </h2>
      <p class="sentence" data-testid="sentence">
        {sentence}
      </p>
      <Actions>{children}</Actions>
    </header>
  );
}

/** What can be done; nothing while there is no connection: it would be done at some later time. */
export function Actions({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
  return (
    <fieldset class="actions" disabled={!isOpen}>
      {children}
    </fieldset>
  );
}

export function LinkTo({ kind, id, title }: { readonly kind: Kind; readonly id: string; readonly title: string }): JSX.Element {
  return (
    <button type="button" class="link" title={`Show this ${kind}`} onClick={() => select({ kind, id })}>
      {title}
    </button>
  );
}

interface SectionProps {
  readonly title: string;
  /** Stands at its right end. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ title, aside, children }: SectionProps): JSX.Element {
  return (
    <section class="section" data-section={title.toLowerCase()}>
      <div class="section-head">
        <h3>{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  );
}

export interface Fact {
  readonly name: string;
  readonly value: ComponentChildren;
  /** Given: it can be copied. */
  readonly text?: string;
}

export function Facts({ facts }: { readonly facts: readonly Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(({ name, value, text }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {text !== undefined && <CopyButton text={text} what={name} />}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Over plain HTTP from another machine there is no clipboard; elsewhere it may be forbidden. */
async function write(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    throw new Error('The browser does not allow this page to copy.');
  }
}

const copy = (text: string): Promise<unknown> => act(write(text), () => 'Copied.');

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  return (
    <button type="button" class="icon-button" aria-label={`Copy ${what.toLowerCase()}`} title="Copy" onClick={() => copy(text)}>
      <Icon path={COPY} />
    </button>
  );
}

/** Any value as text. Everything shown is text: nothing of it is ever read as HTML. */
export function Code({ title, value }: { readonly title: string; readonly value: unknown }): JSX.Element {
  const text = jsonText(value);
  return (
    <Section title={title} aside={<CopyButton text={text} what={title} />}>
      <pre class="code" tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </Section>
  );
}
