/** Requests about cards (spec 9, 13). */
import type { Card } from '../../model/cards.ts';
import { LIMITS } from '../../model/limits.ts';
import type { CardQuery } from '../../model/requests.ts';
import { cardToWire } from '../wire/wire-names.ts';
import type { Action } from './request.ts';
import { RequestFields } from './request-fields.ts';
import { onlyId, pageAnswer } from './row-answers.ts';

const getCard: Action = async ({ offstage, fields }) => cardToWire(await offstage.cards.get(onlyId(fields, 'card_id')));

const listCards: Action = async ({ offstage, fields }) => {
  const sessionId = fields.requiredText('session_id');
  const page = RequestFields.present({ limit: fields.number('limit'), before: fields.text('before') });
  fields.refuseRest();
  const query: CardQuery = { sessionId, ...page };
  const cards: readonly Card[] = await offstage.cards.list(query);
  return pageAnswer('cards', cards, { limit: query.limit ?? LIMITS.listDefault, toWire: cardToWire, idName: 'card_id' });
};

export const CARD_ACTIONS = { get_card: getCard, list_cards: listCards } as const satisfies Readonly<Record<string, Action>>;
