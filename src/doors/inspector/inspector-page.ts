/**
 * A page that shows the hosted inspector with what the relay tells. That page cannot open sockets of its own: it is told by the page around it.
 *
 * IPG1  What is told goes to the inspector's own origin and nowhere else, and what comes from elsewhere is passed over.
 * IPG2  The socket is opened once the inspector listens, so nothing has to be kept for it; when it listens anew, it is told anew.
 */

/** Where the inspector is hosted by its makers. */
export const INSPECTOR_ORIGIN = 'https://stately.ai';

/** May frame the inspector and run the script below; nothing else. */
export const inspectorPolicy = (host: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src 'self' ws://${host} wss://${host}`,
    `frame-src ${INSPECTOR_ORIGIN}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** @param query of the page's own address, without the `?` */
export const inspectorPage = (query: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Offstage in the Stately inspector</title>
<link rel="stylesheet" href="inspect.css?${escaped(query)}">
<p id="status" role="status">Loading the inspector from ${INSPECTOR_ORIGIN}. That needs a way to the internet.</p>
<iframe id="inspector" title="Stately inspector"></iframe>
<script src="inspect.js?${escaped(query)}"></script>
</html>
`;

export const INSPECTOR_STYLE = `html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; font: 14px/1.4 system-ui, sans-serif; }
p { margin: 0; padding: 4px 12px; }
iframe { flex: 1; border: 0; width: 100%; }
`;

export const INSPECTOR_SCRIPT = `const origin = ${JSON.stringify(INSPECTOR_ORIGIN)};
const inspector = document.getElementById('inspector');
const status = document.getElementById('status');
const address = new URL('inspect' + location.search, location.href);
address.protocol = address.protocol.replace('http', 'ws');
let socket = null;
let retry;

function connect() {
  clearTimeout(retry);
  if (socket !== null) socket.onclose = null;
  socket?.close();
  socket = new WebSocket(address);
  socket.onopen = () => { status.textContent = 'Live.'; };
  socket.onmessage = ({ data }) => inspector.contentWindow.postMessage(JSON.parse(data), origin);
  socket.onclose = () => {
    status.textContent = 'Disconnected: what is shown is not live. Trying again.';
    retry = setTimeout(connect, 3000);
  };
}

window.addEventListener('message', (event) => {
  if (event.origin !== origin || event.source !== inspector.contentWindow) return;
  if (event.data?.type === '@statelyai.connected') connect();
});
// Not before somebody listens.
inspector.src = origin + '/inspect';
`;

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
