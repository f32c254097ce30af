/** What the first view can do without, and every page needs: loaded as soon as that view stands. */
export { Detail } from '../detail/detail.tsx';
export { Dialogs } from '../dialogs/dialogs.tsx';
export { rowNote } from '../model/row-words.ts';
export { Banner } from './banner.tsx';
export { holdRows } from './hold.ts';
export { onListKey } from './keys.ts';
export { Many } from './many.tsx';
export { PageButtons } from './page-buttons.tsx';
export { RowActions } from './row-actions.tsx';
export { followScope } from './scope.ts';
export { Announcer, Toasts } from './told.tsx';
export { Unloaded } from './unloaded.tsx';
