/** Light or dark, as it was chosen here; the browser keeps it. */
import { applyTheme, THEME, ui } from './ui-store.ts';

export function setTheme(theme: 'light' | 'dark'): void {
  ui.trigger.themed({ theme });
  applyTheme(theme);
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // It holds until the page is left.
  }
}
