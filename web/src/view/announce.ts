/** Says something to those who listen instead of look. What becomes of it is in `../later/announcements.ts`. */

const waiting: string[] = [];
let listener: ((text: string) => void) | null = null;

export function announce(text: string): void {
  if (listener === null) waiting.push(text);
  else listener(text);
}

export function listenToAnnouncements(next: (text: string) => void): void {
  listener = next;
  for (const text of waiting.splice(0)) next(text);
}
