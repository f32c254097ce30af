/** Icons of details only, as paths on 16 by 16. */

export const BACK = 'M10 3.5L5.5 8l4.5 4.5';
export const SEND = 'M8 13V3M3.8 7.2L8 3l4.2 4.2';
export const ARCHIVE = 'M2 3h12v3H2zM3 6v7h10V6M6.5 9h3';
export const TRASH = 'M2.5 4.5h11M6 4.5V2.8h4v1.7M4 4.5l.6 9h6.8l.6-9';
export const COPY = 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3';
