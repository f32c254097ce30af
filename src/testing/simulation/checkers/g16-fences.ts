/**
 * G16: every foreign callback may throw, hang or re-enter without harm to anyone else.
 *
 * FNC1  Nothing comes out of the engine that nobody catches, and it always comes to rest.
 * FNC2  Whatever one observer does, every other one is told the same.
 * FNC3  Everybody who has asked is answered, at the latest by the close, with an answer or an error of the table; only a caller that gave up may
 *       be given its own reason.
 * FNC4  When everything foreign has let go and the store takes writes, the engine is well, and nothing is held any more.
 * FNC5  An agent that does not care about an interrupt holds its session no longer than the grace.
 */
import { ERRORS } from '../../../model/errors.ts';
import { type Check, type Checker, violating } from '../checker.ts';
import type { Fact, FactOf, RestView } from '../facts.ts';
import type { Known, KnownCall } from '../known.ts';
import { InterruptBook } from './interrupt-book.ts';
import { ToldMirror } from './told-mirror.ts';

const violate = violating('G16');

/** Areas of which nothing inside this process may speak, and what says that the engine has broken its own rows. */
const FOREIGN = /^(access|control|inspector|package)\.|^store\.corrupt$/;

/** A reader goes on until it is left, or the engine is closed; who closes is looked at by itself. */
const OPEN_ENDED: readonly string[] = ['events', 'close'];

export const fences: Checker = {
  guarantee: 'G16',
  promise:
    'every foreign callback (executor, observer, inspector, adapter, store) may throw, hang or re-enter without harm to anyone else',
  begin(): Check {
    const mirror = new ToldMirror();
    const lives = new Lives();
    const interrupts = new InterruptBook(violate);
    return (fact, known) => {
      const problem = mirror.note(fact);
      if (problem !== null) violate(problem);
      lives.note(fact);
      interrupts.note(fact, known);
      switch (fact.type) {
        case 'escaped':
          if (fact.ofHost === undefined) violate(`nobody caught ${fact.message}`);
          break;
        case 'never-rests':
          violate(`it never comes to rest: ${fact.pending.slice(0, 10).join(', ')}`);
          break;
        case 'refused':
          checkCode(fact, known.calls.get(fact.call));
          break;
        case 'rested': {
          const missing = mirror.missing();
          if (missing !== null) violate(missing);
          if (fact.view.isLast && fact.view.canStore) checkLast(fact, fact.view, known);
          break;
        }
        case 'closed':
          for (const call of unsettled(known, fact.life)) {
            const { asked } = call;
            if (!OPEN_ENDED.includes(asked.verb)) violate(`${nameOf(asked)} was not answered, and the engine has closed`);
          }
          break;
        default:
      }
    };
  },
};

/** One engine after the other: whoever was told to close has closed, or died. */
class Lives {
  #closing: number | null = null;

  note(fact: Fact): void {
    if (fact.type === 'closing') this.#closing = fact.life;
    else if (fact.type === 'closed' || fact.type === 'crashed') this.#closing = null;
    else if (fact.type === 'opened' && this.#closing !== null)
      violate(`the engine of life ${this.#closing} was told to close, and never did`);
  }
}

function checkCode({ call, verb, code, message }: FactOf<'refused'>, known: KnownCall | undefined): void {
  if (known?.gaveUp === true) return;
  if (!Object.hasOwn(ERRORS, code))
    violate(`call ${call} (${verb}) was refused ${code}, which is no code of the table: ${message}`);
  if (FOREIGN.test(code)) violate(`call ${call} (${verb}) was refused ${code}, which nothing here can be: ${message}`);
}

function checkLast({ life }: FactOf<'rested'>, { health }: RestView, known: Known): void {
  for (const { asked } of unsettled(known, life)) {
    if (!OPEN_ENDED.includes(asked.verb)) violate(`${nameOf(asked)} is not answered, and nothing is left that could do it`);
  }
  if (health.status !== 'ok') violate(`the engine is ${health.status}, and nothing is wrong with what it was given`);
  const { pendingWrites, lastError } = health.store;
  if (pendingWrites > 0 || lastError !== null)
    violate(`${pendingWrites} changes are not stored (${lastError}), and the store takes writes`);
  const isAtWork = [...known.bodies.values()].some(({ settled }) => settled === null);
  const { running, waiting, detached } = health.pool;
  if (!isAtWork && running + waiting + detached > 0)
    violate(`the pool counts ${running} running, ${waiting} waiting and ${detached} detached bodies, and all have settled`);
  const agents = [...known.agents.values()].filter(({ started, isGone }) => started.jobId === null && !isGone);
  if (!agents.some(({ toldToEnd }) => toldToEnd !== null) && health.agents.ending + health.agents.detached > 0)
    violate(
      `${health.agents.ending} agents are ending (${health.agents.detached} detached), and all that were told to end have gone`,
    );
  if (health.agents.live !== agents.filter(({ toldToEnd }) => toldToEnd === null).length)
    violate(`${health.agents.live} agents are said to live, and ${agents.length} have started and not gone`);
}

const unsettled = (known: Known, life: number): readonly KnownCall[] =>
  [...known.calls.values()].filter(({ asked, settled }) => asked.life === life && settled === null);

const nameOf = ({ call, verb, by, args }: FactOf<'asked'>): string =>
  `call ${call} (${verb} ${JSON.stringify(args)}, by ${by.who === 'body' ? `the body of ${by.jobId}` : `a ${by.who}`})`;
