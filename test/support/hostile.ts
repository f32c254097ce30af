/** Values that throw when they are looked at, and what comes of nobody catching that. */

const angry = (): never => {
  throw new Error('do not look at me');
};

/** Looks like an error until somebody reads its message. */
export const mutedError = (): unknown => Object.create(Error.prototype, { message: { get: angry } });

/** Throws whatever is done with it. As the value of a promise it must not throw at `then`, else it would be its rejection. */
export const thorny = (isThenable = false): object =>
  new Proxy(
    {},
    {
      get: (_target, name) => (name === 'then' && !isThenable ? undefined : angry()),
      has: angry,
      getPrototypeOf: angry,
      ownKeys: angry,
      getOwnPropertyDescriptor: angry,
    },
  );

/** What an agent may throw, by name. */
export const HOSTILE_ERRORS: readonly (readonly [string, () => unknown])[] = [
  ['an error without a readable message', mutedError],
  ['a proxy that throws at every touch', () => thorny()],
];

export interface StrayErrors extends Disposable {
  /** Exceptions and rejections that nobody has caught since. */
  readonly count: number;
  readonly errors: readonly unknown[];
}

export function strayErrors(): StrayErrors {
  const errors: unknown[] = [];
  const note = (error: unknown): void => {
    errors.push(error);
  };
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
  return {
    errors,
    get count() {
      return errors.length;
    },
    [Symbol.dispose]() {
      process.off('uncaughtException', note);
      process.off('unhandledRejection', note);
    },
  };
}
