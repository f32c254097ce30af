/** Closes a socket that nobody needs any more. One that is closed before it is open is an error on the console, and here it is none. */
export function closeQuietly(socket: WebSocket): void {
  socket.onmessage = null;
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket.close();
}
