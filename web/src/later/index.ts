/** What the first view can do without, and every page needs: loaded as soon as that view stands. */
export { onListKey } from './keys.ts';
export { Login } from './login.tsx';
export { Many } from './many.tsx';
export { Announcer, Toasts } from './told.tsx';
