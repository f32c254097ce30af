/** What providers say they have used: numbers by name, added up by name. */
export type Usage = Readonly<Record<string, number>>;

export function addUsage(sum: Usage | null, more: Usage): Usage {
  const total: Record<string, number> = Object.assign(Object.create(null), sum);
  for (const [name, value] of Object.entries(more)) total[name] = (total[name] ?? 0) + value;
  return total;
}

/** Finite numbers only; whatever else a provider sends is left out. */
export const usageOf = (given: unknown): Usage =>
  Object.fromEntries(
    Object.entries(typeof given === 'object' && given !== null ? given : {}).filter(
      ([, value]) => typeof value === 'number' && Number.isFinite(value),
    ),
  );
