/**
 * Inputs that were right once: values and bytes of a known shape, spoilt in a few places. What is only random is refused at the first look; these
 * come further.
 *
 * MUT1  JSON is spoilt as a tree (types, names, numbers, depth) and then, now and then, as a text: what no `JSON.stringify` would write comes, too.
 */
import fc from 'fast-check';
import { ERRORS, type ErrorCode, isOffstageError } from '../../src/model/errors.ts';

/** Stands in a tree for text that is written as it is. */
const RAW = /"⟦(?<text>[^⟧]*)⟧"/gu;
const raw = (text: string): string => `⟦${text}⟧`;
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

const NUMBERS = [0, -1, 1, 0.5, -0.5, 1e21, 2 ** 31, 2 ** 53, -(2 ** 53), Number.MAX_VALUE, 5e-324];
const TEXTS = [
  '',
  ' ',
  'x',
  '0',
  '1',
  'NaN',
  'Infinity',
  'null',
  'true',
  '__proto__',
  'constructor',
  'toString',
  '../..',
  '\0',
  '\u2028',
  '~',
];
const UNUSUAL = [
  '\ud800',
  '\udc00x',
  '💥',
  'é\u0301',
  '\u202e',
  '\u001b[2J',
  '%',
  '%ZZ',
  '-',
  '--',
  'x'.repeat(513),
  'x'.repeat(20_000),
];
const WRITTEN = [
  '1e999',
  '-1e999',
  '-0',
  '1E+2',
  '00',
  'NaN',
  'undefined',
  '"\\ud800"',
  nested(50),
  nested(3_000),
  '{"a":1,"a":2}',
];

/** A value that stands where another one belongs. */
export const odd: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { length: 3 }, { toJSON: 1 }),
  },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...NUMBERS) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...TEXTS) },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(...UNUSUAL) },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(...WRITTEN.map(raw)) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }) },
);

const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'toJSON',
  'then',
  'length',
  'type',
  'id',
  'x',
  '',
  '0',
  '\ud800',
  'hasOwnProperty',
];

interface Change {
  readonly what: 'replace' | 'remove' | 'add' | 'rename' | 'wrap' | 'copy' | 'swap';
  /** Which of the places, counted around. */
  readonly at: number;
  readonly other: number;
  readonly name: string;
  readonly value: unknown;
}

const change: fc.Arbitrary<Change> = fc.record({
  what: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'rename', 'wrap', 'copy', 'swap'),
  at: fc.nat(1_000),
  other: fc.nat(1_000),
  name: fc.constantFrom(...NAMES),
  value: odd,
});

type Tree = Record<string, unknown>;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null;

/** Also `__proto__` is a name like any other. */
function put(tree: Tree, name: string, value: unknown): void {
  if (Array.isArray(tree) && !/^\d+$/.test(name)) tree.push(value);
  else Object.defineProperty(tree, name, { value, enumerable: true, configurable: true, writable: true });
}

function remove(tree: Tree, name: string): void {
  if (Array.isArray(tree)) tree.splice(Number(name), 1);
  else delete tree[name];
}

function placesIn(tree: Tree, places: { readonly tree: Tree; readonly name: string }[] = []) {
  for (const name of Object.keys(tree)) {
    places.push({ tree, name });
    const value = Object.getOwnPropertyDescriptor(tree, name)?.value;
    if (isTree(value)) placesIn(value, places);
  }
  return places;
}

function spoil(root: Tree, { what, at, other, name, value: given }: Change): void {
  const value = structuredClone(given);
  const places = placesIn(root);
  const place = places[at % places.length];
  const second = places[other % places.length];
  if (place === undefined || second === undefined) {
    put(root, name, value);
    return;
  }
  const here = Object.getOwnPropertyDescriptor(place.tree, place.name)?.value as unknown;
  const there = structuredClone(Object.getOwnPropertyDescriptor(second.tree, second.name)?.value) as unknown;
  if (what === 'remove') remove(place.tree, place.name);
  else if (what === 'add') put(place.tree, name, value);
  else if (what === 'wrap') put(place.tree, place.name, other % 2 === 0 ? [here] : { [name]: here });
  else if (what === 'rename') {
    remove(place.tree, place.name);
    put(place.tree, name, here);
  } else if (what === 'copy') put(place.tree, place.name, there);
  else if (what === 'swap') {
    put(second.tree, second.name, structuredClone(here));
    put(place.tree, place.name, there);
  } else put(place.tree, place.name, value);
}

/** How a text is spoilt afterwards. */
const cutText = fc.record({
  what: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'cut', 'insert', 'drop', 'twice'),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  text: fc.constantFrom('"', '\\', '{', '}', ',', ':', '\0', '\n', '\ud800', '[', 'e9', '-', '\ufeff'),
});

function spoilText(text: string, { what, at, text: more }: { what: string; at: number; text: string }): string {
  const index = Math.floor(at * text.length);
  if (what === 'cut') return text.slice(0, index);
  if (what === 'insert') return text.slice(0, index) + more + text.slice(index);
  if (what === 'drop') return text.slice(0, index) + text.slice(index + 1);
  return what === 'twice' ? text + text : text;
}

/** As JSON, with what stands in it as it is. */
export const written = (value: unknown): string =>
  JSON.stringify({ value }).slice('{"value":'.length, -1).replace(RAW, '$<text>');

/** The JSON of such a value with up to `most` places spoilt, and now and then the text as well. */
export const mutatedJson = (base: fc.Arbitrary<unknown>, { most = 3, texts = true } = {}): fc.Arbitrary<string> =>
  fc.tuple(base, fc.array(change, { maxLength: most }), cutText).map(([value, changes, cut]) => {
    // The root may be spoilt like anything in it.
    const root = { value: JSON.parse(JSON.stringify(value)) as unknown };
    for (const one of changes) spoil(root, one);
    const text = written(root.value ?? null);
    return texts ? spoilText(text, cut) : text;
  });

/** The value that such a text stands for; undefined for none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same as values, for what reads no text: all of them could have come out of `JSON.parse`. */
export const mutatedValue = (base: fc.Arbitrary<unknown>, options: { readonly most?: number } = {}): fc.Arbitrary<unknown> =>
  mutatedJson(base, { ...options, texts: false }).map(parsed);

/** Null most of the time. */
export const rarely = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

export interface ByteChange {
  readonly what: 'flip' | 'cut' | 'zero' | 'insert' | 'drop' | 'repeat';
  /** Where, as a part of the whole. */
  readonly at: number;
  readonly length: number;
  readonly bit: number;
}

export const byteChange: fc.Arbitrary<ByteChange> = fc.record({
  what: fc.constantFrom('flip', 'flip', 'cut', 'zero', 'insert', 'drop', 'repeat'),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  length: fc.constantFrom(1, 1, 2, 7, 64, 5_000),
  bit: fc.nat(7),
});

export function spoilBytes(bytes: Buffer, { what, at, length, bit }: ByteChange): Buffer {
  const from = Math.floor(at * bytes.length);
  const to = Math.min(bytes.length, from + length);
  const [before, part, after] = [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)];
  if (what === 'cut') return before;
  if (what === 'drop') return Buffer.concat([before, after]);
  if (what === 'zero') return Buffer.concat([before, Buffer.alloc(part.length), after]);
  if (what === 'insert') return Buffer.concat([before, Buffer.alloc(length, bit * 37), part, after]);
  if (what === 'repeat') return Buffer.concat([before, part, part, after]);
  const flipped = Buffer.from(bytes);
  if (flipped.length > 0) flipped[from] = (flipped[from] as number) ^ (1 << bit);
  return flipped;
}

const INTERNAL: readonly string[] = ['control.failed'];

/** Whether a code is one that a caller may get for what he sent: known, and not the one for what was not foreseen. */
export const isForeseen = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERRORS, code) && !INTERNAL.includes(code);

/** The code of what was thrown. @throws what was thrown, when it has none that was foreseen */
export function codeOf(error: unknown): ErrorCode {
  if (isOffstageError(error) && isForeseen(error.code)) return error.code;
  throw error;
}

/** What `read` answers, or the code that it refuses with. @throws what it throws without a code */
export function readOrCode<Value>(read: () => Value): { readonly value: Value } | { readonly code: ErrorCode } {
  try {
    return { value: read() };
  } catch (error) {
    return { code: codeOf(error) };
  }
}
