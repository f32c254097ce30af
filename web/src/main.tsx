/** The dashboard: a page on which a person sees what every task, session and job is doing, and starts and stops work. */
import { render } from 'preact';
import { App } from './app.tsx';
import './styles/theme.css';
import './styles/controls.css';
import './styles/list.css';
import './styles/detail.css';
import { followAddress } from './view/navigation.ts';
import { applyTheme, ui } from './view/ui-store.ts';

applyTheme(ui.getSnapshot().context.theme);
followAddress();
const app = document.getElementById('app');
if (app !== null) render(<App />, app);
