/** The page around the hosted inspector, its script and its style. */
import type { ServerResponse } from 'node:http';
import { INSPECTOR_SCRIPT, INSPECTOR_STYLE, inspectorPage, inspectorPolicy } from '../inspector/inspector-page.ts';
import { sendText } from './http-answer.ts';

export const INSPECTOR_PATHS: ReadonlySet<string> = new Set(['/inspect', '/inspect.js', '/inspect.css']);

export function sendInspector(
  response: ServerResponse,
  path: string,
  { query, host }: { readonly query: string; readonly host: string },
): void {
  const [type, text] =
    path === '/inspect'
      ? ['text/html', inspectorPage(query)]
      : path === '/inspect.js'
        ? ['text/javascript', INSPECTOR_SCRIPT]
        : ['text/css', INSPECTOR_STYLE];
  const headers = { 'Content-Type': `${type}; charset=utf-8`, 'Content-Security-Policy': inspectorPolicy(host) };
  sendText(response, 200, text, headers);
}
