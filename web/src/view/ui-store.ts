/**
 * What this page has been told by its person: selection, filters, marks, dialogs. What the engine tells is in `live.ts`.
 */
import { createStore } from '@xstate/store';
import { type Address, parseAddress, type Selected } from '../model/address.ts';
import type { Filter } from '../model/rows.ts';

/** A dialog that is open, with what it is about. */
export type Dialog =
  | { readonly name: 'new-job' | 'new-session'; readonly about?: Selected | null }
  | { readonly name: 'new-task' | 'help' }
  | { readonly name: 'confirm'; readonly question: Question };

export interface Question {
  readonly title: string;
  readonly text: readonly string[];
  /** What the button says, for example "Delete this task". */
  readonly action: string;
  readonly isDangerous?: boolean;
  confirm(): Promise<unknown>;
}

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
}

export interface Ui extends Address {
  readonly toggled: ReadonlySet<string>;
  /** Keys of jobs marked for one action on all of them. */
  readonly marked: ReadonlySet<string>;
  /** The row that has, or would get, the focus. */
  readonly active: string | null;
  readonly dialog: Dialog | null;
  readonly toasts: readonly Toast[];
  readonly theme: 'light' | 'dark' | null;
  /** What the token allows; null until it is known. */
  readonly scope: string | null;
}

/** Where the browser keeps it. */
export const THEME = 'offstage.theme';

function storedTheme(): Ui['theme'] {
  try {
    const kept = localStorage.getItem(THEME);
    return kept === 'light' || kept === 'dark' ? kept : null;
  } catch {
    return null; // Storage may be forbidden.
  }
}

const changedSet = <T>(set: ReadonlySet<T>, value: T, isIn: boolean): ReadonlySet<T> => {
  const changed = new Set(set);
  if (isIn) changed.add(value);
  else changed.delete(value);
  return changed;
};

let toasts = 0;

export const ui = createStore({
  context: {
    ...parseAddress(location.hash),
    toggled: new Set(),
    marked: new Set(),
    active: null,
    dialog: null,
    toasts: [],
    theme: storedTheme(),
    scope: null,
  } as Ui,
  on: {
    visited: (ui: Ui, { address }: { address: Address }) => ({ ...ui, ...address }),
    selected: (ui: Ui, { selected }: { selected: Selected | null }) => ({ ...ui, selected }),
    searched: (ui: Ui, { search }: { search: string }) => ({ ...ui, search }),
    filterToggled: (ui: Ui, { filter }: { filter: Filter }) => ({
      ...ui,
      show: ui.show.includes(filter) ? ui.show.filter((name) => name !== filter) : [...ui.show, filter],
    }),
    filterCleared: (ui: Ui) => ({ ...ui, show: [], search: '' }),
    rowToggled: (ui: Ui, { key }: { key: string }) => ({ ...ui, toggled: changedSet(ui.toggled, key, !ui.toggled.has(key)) }),
    marked: (ui: Ui, { key, isMarked }: { key: string; isMarked: boolean }) => ({
      ...ui,
      marked: changedSet(ui.marked, key, isMarked),
    }),
    unmarked: (ui: Ui) => ({ ...ui, marked: new Set<string>() }),
    activated: (ui: Ui, { key }: { key: string | null }) => ({ ...ui, active: key }),
    asked: (ui: Ui, { dialog }: { dialog: Dialog | null }) => ({ ...ui, dialog }),
    toasted: (ui: Ui, { toast }: { toast: Omit<Toast, 'id'> }) => ({
      ...ui,
      toasts: [...ui.toasts, { ...toast, id: ++toasts }].slice(-4),
    }),
    untoasted: (ui: Ui, { id }: { id: number }) => ({ ...ui, toasts: ui.toasts.filter((toast) => toast.id !== id) }),
    themed: (ui: Ui, { theme }: { theme: Ui['theme'] }) => ({ ...ui, theme }),
    scoped: (ui: Ui, { scope }: { scope: string }) => ({ ...ui, scope }),
  },
});

export const open = (dialog: Dialog | null): void => ui.trigger.asked({ dialog });

export const select = (selected: Selected | null): void => ui.trigger.selected({ selected });

/** Whether work may be started and stopped from here. */
export const canOperate = ({ scope }: Ui): boolean => scope !== null && scope !== 'observe';

export function applyTheme(theme: Ui['theme']): void {
  if (theme === null) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
