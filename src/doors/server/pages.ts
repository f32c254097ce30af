/** The few pages that the server makes itself: for a browser without a token, and for a package without its dashboard. */
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Headers, sendText } from './http-answer.ts';

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem}' +
  'input,button{font:inherit;padding:.4rem .6rem}input{width:100%;box-sizing:border-box;margin:.25rem 0 1rem}code{font-size:.9em}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<title>${title}</title><style>${STYLE}</style><main><h1>${title}</h1>${body}</main></html>`;

const FORM =
  '<form method="post" action="login"><label>Token <input name="token" type="password" autocomplete="off" autofocus required></label>' +
  '<button>Open</button></form><p>The link that <code>offstage serve</code> prints opens this page without one. It works once.</p>';

/** @param why a sentence of ours, never something that was sent */
export function sendLogin(response: ServerResponse, status: number, why: string, headers: Headers = {}): void {
  sendPage(response, status, page('Offstage needs a token', `<p>${why}</p>${FORM}`), headers);
}

export function sendNoDashboard(response: ServerResponse): void {
  const text = '<p>The server runs, but the dashboard is not built. Build it with <code>npm run build</code>.</p>';
  sendPage(response, 404, page('No dashboard here', text), {});
}

function sendPage(response: ServerResponse, status: number, html: string, headers: Headers): void {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  sendText(response, status, html, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    ...headers,
  });
}
