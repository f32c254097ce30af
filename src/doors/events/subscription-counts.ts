/** How many subscriptions an engine has, and how many `resync` they were sent: for the metrics. */

interface Counts {
  subscribers: number;
  resyncs: number;
}

const counts = new WeakMap<object, Counts>();

function of(offstage: object): Counts {
  const known = counts.get(offstage) ?? { subscribers: 0, resyncs: 0 };
  counts.set(offstage, known);
  return known;
}

/** Returns a function that takes it back; once. */
export function countSubscriber(offstage: object): () => void {
  const own = of(offstage);
  own.subscribers += 1;
  let isCounted = true;
  return () => {
    if (isCounted) own.subscribers -= 1;
    isCounted = false;
  };
}

export function countResync(offstage: object): void {
  of(offstage).resyncs += 1;
}

export const subscriptionCounts = (offstage: object): Readonly<Counts> => ({ ...of(offstage) });
