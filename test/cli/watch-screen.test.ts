/** WSC1: what is drawn again stands where it stood. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { Sink } from '../../src/doors/cli/terminal.ts';
import { WatchScreen } from '../../src/doors/cli/watch-screen.ts';

it('a line that is longer than the screen is cut, and its colours end', async () => {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 12, rows: 4 });
  const sink = new Sink(stream as unknown as NodeJS.WriteStream, { TERM: 'xterm' });
  const screen = new WatchScreen(sink);
  await screen.draw([`a ${sink.paint('red', 'long word')} and more`, `${'x'.repeat(11)}😀y`]);
  await screen.draw(['again']);
  const drawn = String(stream.read());
  expect(drawn).toBe(`\r\u001b[Ja \u001b[31mlong word\u001b[0m \n${'x'.repeat(11)}😀\n\u001b[2A\r\u001b[Jagain\n`);
});
