/** Requests about cards (spec 9, 13). */
import type { Card } from '../../model/cards.ts';
import type { CardQuery } from '../../model/requests.ts';
import { Page } from '../wire/page.ts';
import { cardToWire } from '../wire/wire-answers.ts';
import { listInPortions } from './many-jobs.ts';
import type { Action } from './request.ts';
import { RequestFields } from './request-fields.ts';
import { onlyId } from './row-answers.ts';

const getCard: Action = async ({ offstage, fields }) => cardToWire(await offstage.cards.get(onlyId(fields, 'card_id')));

const listCards: Action = async ({ offstage, engine, fields, signal }) => {
  const sessionId = fields.requiredText('session_id');
  const range = RequestFields.present({ limit: fields.number('limit'), before: fields.text('before') });
  fields.refuseRest();
  const query: CardQuery = { sessionId, ...range };
  const page = new Page<Card>(cardToWire);
  // A card holds the result of its job.
  const list = (portion: CardQuery) => offstage.cards.list(portion);
  const take = (cards: readonly Card[]) => page.take(cards);
  const isMore = await listInPortions(query, { engine, list, idOf: ({ cardId }) => cardId, take, signal });
  return { cards: page.rows, next_before: isMore ? (page.rows.at(-1)?.card_id ?? null) : null };
};

export const CARD_ACTIONS = { get_card: getCard, list_cards: listCards } as const satisfies Readonly<Record<string, Action>>;
