/** Light or dark, as it was chosen here; the browser keeps it. */
import { applyTheme, THEME, ui } from './ui-store.ts';

/** From what is shown, chosen or the system's, to the other one. */
export function switchTheme(): void {
  const { theme: chosen } = ui.getSnapshot().context;
  const isDark = chosen === null ? matchMedia('(prefers-color-scheme: dark)').matches : chosen === 'dark';
  const theme = isDark ? 'light' : 'dark';
  ui.trigger.themed({ theme });
  applyTheme(theme);
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // It holds until the page is left.
  }
}
