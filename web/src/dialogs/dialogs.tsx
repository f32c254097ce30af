/** The dialog that is open, in the platform's own modal: it keeps the focus inside and gives it back. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../icons.tsx';
import { useCurrent } from '../view/live.ts';
import { type Dialog, open, type Question, ui } from '../view/ui-store.ts';
import { useUi } from '../view/use-source.ts';
import { Help } from './help.tsx';
import { NewJob } from './new-job.tsx';
import { NewSession, NewTask } from './new-task.tsx';

export function Dialogs(): JSX.Element | null {
  const dialog = useUi((state) => state.dialog);
  const opened = useRef({ dialog, count: 0 });
  // One that is asked for while the last one goes is another one, also where it says the same.
  if (opened.current.dialog !== dialog) opened.current = { dialog, count: opened.current.count + 1 };
  return dialog === null ? null : <Opened key={opened.current.count} dialog={dialog} />;
}

function Opened({ dialog }: { readonly dialog: Dialog }): JSX.Element {
  switch (dialog.name) {
    case 'confirm':
      return <Confirm question={dialog.question} />;
    case 'new-job':
      return <NewJob />;
    case 'new-task':
      return <NewTask />;
    case 'new-session':
      return <NewSession taskId={dialog.about?.id ?? null} />;
    case 'help':
      return <Help />;
  }
}

interface ModalProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** What its main button says; absent: there is nothing to do but to close it. */
  readonly action?: string;
  readonly isDangerous?: boolean;
  readonly isReady?: boolean;
  /** Of other buttons, before the main one. */
  readonly extra?: ComponentChildren;
  /** True closes it. */
  submit?(): Promise<boolean> | boolean;
}

const close = (): void => open(null);

export function Modal({ title, children, action, isDangerous, isReady = true, extra, submit }: ModalProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const mine = useRef(ui.getSnapshot().context.dialog);
  const [isBusy, setBusy] = useState(false);
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
  useEffect(() => {
    element.current?.showModal();
    // What one has come for; of a question the answer that changes nothing.
    element.current?.querySelector<HTMLElement>('.dialog-body :is(input, textarea), .dialog-foot button')?.focus();
  }, []);
  // The platform tells of a close a moment later, when another one may be open already.
  const closed = (): void => {
    if (ui.getSnapshot().context.dialog === mine.current) close();
  };
  const run = async (): Promise<void> => {
    setBusy(true);
    const isDone = await (submit?.() ?? true);
    setBusy(false);
    if (isDone) close();
  };
  return (
    <dialog ref={element} class="dialog" aria-labelledby="dialog-title" onClose={closed}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <div class="dialog-head">
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </div>
        <div class="dialog-body">{children}</div>
        <div class="dialog-foot">
          {extra}
          <span class="spacer" />
          <button type="button" class="button" onClick={close}>
            {action === undefined ? 'Close' : 'Cancel'}
          </button>
          {action !== undefined && (
            <button
              type="submit"
              class={`button ${isDangerous ? 'is-danger is-filled' : 'is-primary'}`}
              disabled={isBusy || !isReady || !isOpen}
            >
              {action}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

function Confirm({ question }: { readonly question: Question }): JSX.Element {
  const { title, text, action, isDangerous = false, confirm } = question;
  return (
    <Modal
      title={title}
      action={action}
      isDangerous={isDangerous}
      submit={() => {
        // It may ask again, so it closes first.
        close();
        void confirm();
        return false;
      }}
    >
      {text.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </Modal>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: string | null;
  readonly children: ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <small>{hint}</small>}
    </label>
  );
}
