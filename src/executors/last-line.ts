/**
 * What a program said last, for the message of an error.
 *
 * LLN1  One line, without control characters, clipped: what a program prints must not reach a terminal as commands.
 */
import { stripVTControlCharacters } from 'node:util';

const LAST_LINE_CHARACTERS = 200;

/** The last line that says anything; null when there is none. */
export function lastLineOf(text: string): string | null {
  const lines = stripVTControlCharacters(text).split('\n');
  const line = lines.map((candidate) => candidate.replace(/\p{Cc}/gu, ' ').trim()).findLast((candidate) => candidate !== '');
  if (line === undefined) return null;
  const characters = [...line];
  return characters.length <= LAST_LINE_CHARACTERS ? line : `${characters.slice(0, LAST_LINE_CHARACTERS - 1).join('')}…`;
}
