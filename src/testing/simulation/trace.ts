/**
 * Facts as lines that people read.
 *
 * TRC1  One line a fact; nothing is told that did not happen, and what happened often is told by its number.
 */
import type { OffstageEvent } from '../../model/events.ts';
import type { BodyPlan, BodyStep } from './body-plan.ts';
import type { Caller, Fact, FactBody } from './facts.ts';

const MOST_CHARACTERS = 200;

const clipped = (text: string): string => (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text);

/** Any value in one line; plans by what they do. */
export function inWords(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'function') return 'a function';
  try {
    return clipped(
      JSON.stringify(value, (name, inner) => {
        if (name === 'plan') return planInWords(inner as BodyPlan);
        return inner === null ? undefined : inner;
      }) ?? String(value),
    );
  } catch {
    return 'something that cannot be shown';
  }
}

function planInWords({ steps, end, whenTold, keepsOn }: BodyPlan): string {
  return [
    ...steps.map(stepInWords),
    `ends with ${end}`,
    ...(whenTold === 'obey' ? [] : [`told to end: ${whenTold}`]),
    ...(keepsOn ? ['keeps on'] : []),
  ].join(', ');
}

function stepInWords(step: BodyStep): string {
  switch (step.do) {
    case 'work':
      return `works ${step.ms} ms`;
    case 'hang':
      return 'hangs';
    case 'spawn':
    case 'run':
      return `${step.do}s ${step.kind} (${planInWords(step.plan)})`;
    case 'wait':
      return `waits for ${step.forWhom}${step.timeoutMs === null ? '' : ` for ${step.timeoutMs} ms`}`;
    case 'wait-twice':
      return 'waits for two at once';
    case 'wait-many':
      return `waits for ${step.mode} of some`;
    case 'cancel':
      return `cancels ${step.whom}`;
    default:
      return step.do;
  }
}

const callerInWords = (by: Caller): string => (by.who === 'body' ? `body of ${by.jobId}` : by.who);

function eventInWords(event: OffstageEvent): string {
  const { type, seq, epoch: _, at: __, ...rest } = event;
  return `${seq} ${type} ${inWords(rest)}`;
}

function inShort(fact: FactBody): string {
  switch (fact.type) {
    case 'opened':
      return `the engine is open: ${inWords(fact.settings)}`;
    case 'closing':
      return 'the engine is told to close';
    case 'closed':
      return 'the engine has closed';
    case 'crashed':
      return `${fact.kind === 'power' ? 'the power goes' : 'the process dies'}; ${fact.taken} written batches are lost, ${fact.left.length} rows are left`;
    case 'jumped':
      return `the wall clock jumps by ${fact.ms} ms`;
    case 'stood-still':
      return `${fact.ms} ms pass, and nothing that is due happens`;
    case 'asked':
      return `${callerInWords(fact.by)} asks (${fact.call}): ${fact.verb} ${fact.args.map(inWords).join(' ')}`;
    case 'answered':
      return `  answered (${fact.call}): ${fact.verb} ${inWords(fact.value)}`;
    case 'refused':
      return `  refused (${fact.call}): ${fact.verb} ${fact.code}: ${clipped(fact.message)}`;
    case 'gave-up':
      return `  the caller of (${fact.call}) gives up`;
    case 'wrote':
      return `  store: ${fact.outcome}${fact.sync ? ', synced' : ''}: ${clipped(fact.operations.map(({ type, key }) => `${type} ${key}`).join(' '))}`;
    case 'told':
      return `  observer ${fact.observer} is told ${eventInWords(fact.event)}`;
    case 'attached':
    case 'detached':
      return `observer ${fact.observer} is ${fact.type} (${fact.how})`;
    case 'body.called':
      return `  body ${fact.run} of ${fact.jobId} is called (${fact.kind}, session ${fact.sessionId}${fact.isWaited ? ', waited for' : ''})`;
    case 'body.told':
      return `  body ${fact.run} of ${fact.jobId} is told to end: ${fact.code}`;
    case 'body.waits':
      return `  body ${fact.run} of ${fact.jobId} waits by (${fact.call})`;
    case 'body.goes-on':
      return `  body ${fact.run} of ${fact.jobId} goes on after (${fact.call})`;
    case 'body.settled':
      return `  body ${fact.run} of ${fact.jobId} ${fact.how}`;
    case 'rested':
      return `at rest: ${fact.view.jobs.length} jobs, ${fact.view.sessions.length} sessions, ${inWords(fact.view.health)}`;
    case 'escaped':
      return `nobody caught: ${fact.message}`;
    case 'never-rests':
      return `it never comes to rest: ${fact.pending.join(', ')}`;
    case 'own':
      return `  ${fact.what} ${inWords(fact.value)}`;
    case 'strayed':
      return `  the body of ${fact.jobId} (${fact.kind}) leaves the simulation: ${fact.resource}`;
    case 'did':
      return fact.what;
    default: {
      const { type, ...rest } = fact;
      return `  ${type} ${inWords(rest)}`;
    }
  }
}

/**
 * One line for a fact, with its step and time.
 * @example
 * await simulate({ seed: 7, onFact: (fact) => console.log(lineOf(fact)) });
 */
export function lineOf({ step, at, life, ...fact }: Fact): string {
  const when = `${String(step).padStart(6)} ${`${life}:${at}`.padStart(12)} ms`;
  return `${when}  ${inShort(fact as FactBody)}`;
}

/** Whether a line about it helps to understand a message that names ids: it names one of them, or is about the whole engine. */
export function isAbout(fact: Fact, message: string): boolean {
  if (WHOLE.has(fact.type)) return true;
  const ids = message.match(/[A-Za-z]+_[A-Za-z0-9_]+|\bs\d+(?:\.\d+)*\b/g) ?? [];
  if (ids.length === 0) return fact.type !== 'wrote' && fact.type !== 'rested';
  const text = lineOf(fact);
  return ids.some((id) => text.includes(id));
}

const WHOLE: ReadonlySet<Fact['type']> = new Set([
  'opened',
  'closing',
  'closed',
  'crashed',
  'jumped',
  'stood-still',
  'escaped',
  'never-rests',
  'did',
]);
