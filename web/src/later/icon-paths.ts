/** Icons that the first view has none of, as paths on 16 by 16. */

export const BACK = 'M10 3.5L5.5 8l4.5 4.5';
export const SEND = 'M8 13V3M3.8 7.2L8 3l4.2 4.2';
export const ARCHIVE = 'M2 3h12v3H2zM3 6v7h10V6M6.5 9h3';
export const TRASH = 'M2.5 4.5h11M6 4.5V2.8h4v1.7M4 4.5l.6 9h6.8l.6-9';
export const COPY = 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3';
export const PLUS = 'M8 3v10M3 8h10';
export const PAUSE = 'M5.5 3.5v9M10.5 3.5v9';
export const PLAY = 'M5 3.2v9.6L12.5 8z';
export const STOP = 'M4.5 4.5h7v7h-7z';
export const THEME = 'M8 13.5a5.5 5.5 0 1 0 0-11zM8 2.5a5.5 5.5 0 0 0 0 11M9.5 4.8v6.4M11.2 5.9v4.2';
export const HELP = 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM6.2 6.2a1.9 1.9 0 1 1 2.7 1.9c-.6.3-.9.7-.9 1.3M8 11.4v.2';
